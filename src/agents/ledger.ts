import type { Clock, Ms } from "../clock.ts";
import { WeirError } from "../errors.ts";
import type { AdmitRequest, Refusal } from "./admission.ts";
import type { AgentEvents } from "./agent-events.ts";
import type { Direction } from "./direction.ts";
import type { ReleaseReason, SessionLease } from "./lease.ts";
import type { LimitName } from "./limit.ts";
import type { Meters } from "./meters.ts";
import type { ShownState } from "./shown-state.ts";

/** Writes admissions, refusals and what becomes of leases into the counters of one agent. Nobody else does. */
export class Ledger {
  readonly #hostname: string;
  readonly #meters: Meters;
  readonly #shown: ShownState;
  readonly #clock: Clock;
  readonly #events: AgentEvents;
  #inbound = 0;
  #outbound = 0;
  #answered = 0;
  #exceeded: Map<LimitName, number> | undefined;
  readonly #refused = { inbound: 0, outbound: 0 };

  constructor(hostname: string, meters: Meters, shown: ShownState, clock: Clock, events: AgentEvents) {
    this.#hostname = hostname;
    this.#meters = meters;
    this.#shown = shown;
    this.#clock = clock;
    this.#events = events;
  }

  /** Sessions since the start. */
  get totals(): { readonly inbound: number; readonly outbound: number; readonly answered: number } {
    return { inbound: this.#inbound, outbound: this.#outbound, answered: this.#answered };
  }

  /** Refusals by limit since the start. */
  get exceeded(): Readonly<Partial<Record<LimitName, number>>> {
    return Object.fromEntries(this.#exceeded ?? []);
  }

  /** Requests refused by limits since the start. */
  get refusals(): Readonly<Record<Direction, number>> {
    return { ...this.#refused };
  }

  /** Takes every place the request needs; true when one of them is a session's. */
  admitted({ method, direction, exempt, answersChallenge }: AdmitRequest, now: Ms): boolean {
    const isInvite = method === "INVITE";
    const isSession = isInvite && exempt !== true;
    this.#meters.countMethod(method, direction, now);
    if (isSession) {
      this.#meters.countSession(direction, now);
      if (direction === "inbound") this.#inbound++;
      else this.#outbound++;
    } else if (method === "REGISTER" && exempt !== true && answersChallenge !== true) {
      this.#meters.countRegister(direction, now);
    }
    if (isInvite) this.#shown.counted(now);
    return isSession;
  }

  refused({ exceeded }: Refusal, direction: Direction): void {
    if (exceeded.length > 0) this.#refused[direction]++;
    for (const each of exceeded) {
      this.#exceeded ??= new Map();
      this.#exceeded.set(each.limit, (this.#exceeded.get(each.limit) ?? 0) + 1);
      this.#events.announce("limit-exceeded", this.#hostname, each);
    }
  }

  answered({ isSession, direction }: SessionLease): void {
    if (!isSession) return;
    this.#answered++;
    if (direction === "outbound") this.#meters.countAnswer(this.#clock.now());
  }

  released({ isSession, direction }: SessionLease): void {
    if (!isSession) return;
    if (!this.#meters.sessions.leave(direction)) {
      this.#defect(new WeirError("WEIR_COUNTER_NEGATIVE", { agent: this.#hostname, direction }));
    }
    this.#shown.freed();
  }

  releasedTwice({ direction, why }: SessionLease, again: ReleaseReason): void {
    this.#defect(new WeirError("WEIR_LEASE_RELEASED_TWICE", { agent: this.#hostname, direction, why, again }));
  }

  #defect(error: WeirError): void {
    this.#events.announce("defect", error);
  }
}
