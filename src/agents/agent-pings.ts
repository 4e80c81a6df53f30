import type { Clock, Ms, Timer } from "../clock.ts";
import type { Endpoint } from "../location.ts";
import type { Evidence } from "./evidence.ts";
import { isPinged } from "./health.ts";
import type { AgentParams } from "./params.ts";
import { decidePing, firstPingAt, type PingFacts } from "./ping-schedule.ts";
import { type Pinger, type PingOutcome, readPingMethod } from "./pinger.ts";
import type { Due, Ticks } from "./ticks.ts";

/** What the pings of one agent need to know of it, and whom they tell. */
export interface PingedAgent extends PingFacts {
  /** The address that the next ping goes to; undefined = the one that the parameters tell. */
  readonly endpoint?: Endpoint | undefined;
  observe(evidence: Evidence): void;
}

/** How the last ping that came to an end went: answered with `status`, or not, with `failure` saying why. */
export interface LastPing {
  /** When it was sent: milliseconds since 1970. */
  readonly at: Ms;
  readonly status?: number;
  readonly failure?: string;
  /** Absent when there was no answer. */
  readonly roundTripMs?: number;
}

export interface PingDeps {
  readonly clock: Clock;
  readonly random: () => number;
  readonly pinger: Pinger;
  /** Those of all pings. */
  readonly ticks: Ticks;
}

/** One ping on its way. */
interface OpenPing {
  readonly number: number;
  readonly sentAt: Ms;
  readonly date: Ms;
  readonly endpoint: { readonly endpoint: Endpoint } | undefined;
  timer: Timer | undefined;
}

const mostBetweenTicks: Ms = 200;

/**
 * The next tick. Ticks are a hundredth of the interval apart, far less than the jitter, and 200 ms at most: of 10,000 agents
 * pinged every 30 s, 67 are then pinged in one go, for half the CPU of a wake-up for each, and a call waits 3 ms for them.
 */
function onTick(at: Ms, params: AgentParams): Ms {
  const pause = Math.min(mostBetweenTicks, params["ping-interval"] * 10);
  return Math.ceil(at / pause) * pause;
}

/** Pings one agent by the schedule, and turns what comes back into evidence. */
export class AgentPings implements Due {
  readonly #agent: PingedAgent;
  readonly #deps: PingDeps;
  readonly #open = new Set<OpenPing>();
  /** When it is decided next whether to ping; undefined while there is no schedule. */
  #tick: Ms | undefined;
  #sent = 0;
  /** The newest ping that was answered. */
  #lastAnswered = 0;
  #last: LastPing | undefined;

  constructor(agent: PingedAgent, deps: PingDeps) {
    this.#agent = agent;
    this.#deps = deps;
  }

  get last(): LastPing | undefined {
    return this.#last;
  }

  /** Starts the schedule, or starts it anew with the parameters at hand. Pings on their way go on. */
  start(): void {
    this.#unschedule();
    const { params } = this.#agent;
    const { clock, random } = this.#deps;
    if (isPinged(params)) this.#schedule(firstPingAt(params, clock.now(), random));
  }

  /** An administrative change: what pings sent before it still bring is ignored. */
  forget(): void {
    for (const ping of this.#open) ping.timer?.cancel();
    this.#open.clear();
  }

  stop(): void {
    this.#unschedule();
    this.forget();
  }

  due(): void {
    const { clock, random } = this.#deps;
    const now = clock.now();
    const { ping, nextAt } = decidePing(this.#agent, now, random);
    // The next one first: whatever becomes of this ping, it never stops the next.
    this.#schedule(nextAt);
    if (ping) this.#send(now);
  }

  #schedule(at: Ms): void {
    this.#tick = onTick(at, this.#agent.params);
    this.#deps.ticks.add(this.#tick, this);
  }

  #unschedule(): void {
    if (this.#tick !== undefined) this.#deps.ticks.remove(this.#tick, this);
    this.#tick = undefined;
  }

  #send(now: Ms): void {
    const { params, endpoint: to } = this.#agent;
    const { clock, pinger } = this.#deps;
    const timeoutMs = params["ping-timeout"] * 1000;
    const endpoint = to && { endpoint: to };
    const ping: OpenPing = { number: ++this.#sent, sentAt: now, date: clock.date(), endpoint, timer: undefined };
    this.#open.add(ping);
    if (timeoutMs > 0) ping.timer = clock.after(timeoutMs, () => this.#end(ping, { kind: "timeout" }));
    const request = { params, ...endpoint, ...readPingMethod(params["ping-method"]), timeoutMs };
    pinger.ping(request, (outcome) => this.#end(ping, outcome));
  }

  /** Once for each ping: a late answer after ping-timeout, or after `forget`, finds it closed. */
  #end(ping: OpenPing, outcome: PingOutcome): void {
    if (!this.#open.delete(ping)) return;
    ping.timer?.cancel();
    if (outcome.kind === "not-sent") return;
    if (outcome.kind === "response") {
      this.#lastAnswered = Math.max(this.#lastAnswered, ping.number);
      const roundTripMs = this.#deps.clock.now() - ping.sentAt;
      this.#last = { at: ping.date, status: outcome.status, roundTripMs };
    } else {
      // Silence on an older ping is no news once a newer one was answered: the agent has been up since.
      if (ping.number < this.#lastAnswered) return;
      this.#last = { at: ping.date, failure: outcome.kind };
    }
    const about = { purpose: "ping", ...ping.endpoint } as const;
    this.#agent.observe(
      outcome.kind === "response" ? { ...outcome, ...about, sentAt: ping.sentAt } : { ...outcome, ...about },
    );
  }
}
