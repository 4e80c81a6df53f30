import type { Direction } from "./direction.ts";
import type { Ledger } from "./ledger.ts";
import type { SessionAgent } from "./session-agent.ts";

/** Why a session, or another admitted request, gave its place back. */
export type ReleaseReason =
  | "bye"
  | "cancelled"
  | "rejected"
  | "timeout"
  | "transport-failure"
  | "failover"
  | "shutdown"
  | "done"
  | "error";

/** The one object that holds a session's place in every counter it touches. */
export interface Lease {
  readonly agent: SessionAgent;
  readonly direction: Direction;
  /** A 2xx came: counts once for the answer-seizure ratio of a session sent to the agent, and frees nothing. */
  answered(): void;
  /** The first call frees every place; a second frees nothing and raises a defect event. */
  release(why: ReleaseReason): void;
}

/** Is the admission that hands it out as well, so that admitting allocates this one object. */
export class SessionLease implements Lease {
  readonly admitted = true;
  readonly agent: SessionAgent;
  readonly direction: Direction;
  /** False for requests that are no session: they were counted, and hold no place. */
  readonly isSession: boolean;
  readonly #ledger: Ledger;
  #isAnswered = false;
  #why: ReleaseReason | undefined;

  constructor(agent: SessionAgent, ledger: Ledger, direction: Direction, isSession: boolean) {
    this.agent = agent;
    this.direction = direction;
    this.isSession = isSession;
    this.#ledger = ledger;
  }

  get lease(): Lease {
    return this;
  }

  /** Undefined while the place is held. */
  get why(): ReleaseReason | undefined {
    return this.#why;
  }

  answered(): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#ledger.answered(this);
  }

  release(why: ReleaseReason): void {
    if (this.#why !== undefined) {
      this.#ledger.releasedTwice(this, why);
      return;
    }
    this.#why = why;
    this.#ledger.released(this);
  }
}
