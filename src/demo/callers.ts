import type { Clock, Ms, Timer } from "../clock.ts";
import type {
  Exchange,
  ExchangeUser,
  IncomingRequest,
  IncomingResponse,
  Outcome,
  Signalling,
  SignallingUser,
} from "../signalling/port.ts";
import { reply, sdp, sdpHeaders } from "./replies.ts";

/** What the callers have seen so far. */
export interface CallerCounts {
  placed: number;
  answered: number;
  /** Given up while it rang. */
  cancelled: number;
  /** By final status. */
  readonly refused: Map<number, number>;
  /** Ended by the engine: nothing came back. */
  lost: number;
}

/** How the callers behave; shares are 0 to 1. */
export interface Habits {
  /** Calls per second, at a moment counted from the start. */
  readonly rate: (elapsed: Ms) => number;
  readonly shortestTalk: Ms;
  readonly longestTalk: Ms;
  /** How long it may ring before the caller gives up. */
  readonly patience: Ms;
}

interface DemoCall {
  readonly exchange: Exchange;
  cancelled: boolean;
  /** The caller's patience, then the talk. */
  timer: Timer;
}

/** Many callers behind one address. Each call is an INVITE, some talk, and a BYE; or a CANCEL when nobody answers in time. */
export class DemoCallers implements SignallingUser {
  readonly counts: CallerCounts = { placed: 0, answered: 0, cancelled: 0, refused: new Map(), lost: 0 };
  readonly #signalling: Signalling;
  readonly #target: string;
  readonly #habits: Habits;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #calling = new Set<DemoCall>();
  /** Answered calls by dialog id, with the end of the talk; undefined once the caller has hung up. */
  readonly #talking = new Map<string, Timer | undefined>();
  #startedAt: Ms = 0;
  #next: Timer | undefined;
  #stopped = false;

  /** `target` is the `host:port` that all calls go to. */
  constructor(
    signalling: Signalling,
    target: string,
    habits: Habits,
    deps: { readonly clock: Clock; readonly random: () => number },
  ) {
    this.#signalling = signalling;
    this.#target = target;
    this.#habits = habits;
    this.#clock = deps.clock;
    this.#random = deps.random;
  }

  /** Calls being set up or under way. */
  get active(): number {
    return this.#calling.size + this.#talking.size;
  }

  start(): void {
    this.#startedAt = this.#clock.now();
    this.#scheduleNext();
  }

  /** Places no more calls, and ends those there are. `active` comes to zero once the other side has answered. */
  stop(): void {
    this.#stopped = true;
    this.#next?.cancel();
    for (const call of this.#calling) this.#giveUp(call);
    for (const dialogId of [...this.#talking.keys()]) this.#hangUp(dialogId);
  }

  /** The other side hangs up, or asks something within a call. */
  request(request: IncomingRequest): void {
    reply(request, 200, "OK");
    if (request.method === "BYE") this.dialogEnded(request.dialogId);
  }

  dialogEnded(dialogId: string): void {
    this.#talking.get(dialogId)?.cancel();
    this.#talking.delete(dialogId);
  }

  invite(request: IncomingRequest): void {
    reply(request, 486, "Busy Here");
  }

  ack(): void {}
  connected(): void {}
  disconnected(): void {}

  /** Arrivals are random at the rate of the moment: exponential gaps, as those of people are. */
  #scheduleNext(): void {
    const perSecond = this.#habits.rate(this.#clock.now() - this.#startedAt);
    const gap = (-Math.log(1 - this.#random()) / perSecond) * 1_000;
    this.#next = this.#clock.after(gap, () => {
      this.#place();
      this.#scheduleNext();
    });
  }

  #place(): void {
    this.counts.placed++;
    const number = `1555${Math.floor(1e6 * this.#random())
      .toString()
      .padStart(6, "0")}`;
    const user: ExchangeUser = {
      provisional: () => {},
      final: (outcome) => this.#ended(call, outcome),
    };
    const exchange = this.#signalling.send(
      {
        method: "INVITE",
        uri: `sip:${number}@${this.#target}`,
        dialogId: "",
        headers: { from: "<sip:caller@localhost>", ...sdpHeaders },
        body: sdp,
      },
      user,
    );
    const call: DemoCall = {
      exchange,
      cancelled: false,
      timer: this.#clock.after(this.#habits.patience, () => this.#giveUp(call)),
    };
    this.#calling.add(call);
  }

  #giveUp(call: DemoCall): void {
    call.cancelled = true;
    call.timer.cancel();
    call.exchange.cancel();
  }

  #ended(call: DemoCall, outcome: Outcome): void {
    this.#calling.delete(call);
    call.timer.cancel();
    if (outcome.kind !== "response") this.counts.lost++;
    else if (outcome.response.status < 300) this.#answered(call, outcome.response);
    else if (call.cancelled) this.counts.cancelled++;
    else this.counts.refused.set(outcome.response.status, (this.counts.refused.get(outcome.response.status) ?? 0) + 1);
  }

  #answered(call: DemoCall, response: IncomingResponse): void {
    this.counts.answered++;
    response.ack();
    const { dialogId } = response;
    const { shortestTalk, longestTalk } = this.#habits;
    const talk = call.cancelled || this.#stopped ? 0 : shortestTalk + (longestTalk - shortestTalk) * this.#random();
    this.#talking.set(
      dialogId,
      this.#clock.after(talk, () => this.#hangUp(dialogId)),
    );
  }

  #hangUp(dialogId: string): void {
    const talk = this.#talking.get(dialogId);
    if (!talk) return;
    talk.cancel();
    this.#talking.set(dialogId, undefined);
    this.#signalling.send(
      { method: "BYE", uri: "", dialogId, headers: {}, body: "" },
      { provisional: () => {}, final: () => this.#talking.delete(dialogId) },
    );
  }
}
