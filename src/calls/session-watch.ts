import type { Clock, Ms, Timer } from "../clock.ts";
import type { SessionLimits } from "../config/config.ts";
import type { Headers, Outcome } from "../signalling/port.ts";
import type { CallLegs } from "./call-legs.ts";
import { isGone } from "./dialog-relay.ts";
import type { Side } from "./record.ts";

export const noSessionLimits: SessionLimits = { "max-life-limit": 0, "dialog-ping-interval": 0 };

/** What the watch needs of its call. */
export interface WatchedSession {
  /** Nobody has refreshed the session (RFC 4028), or it has lasted for as long as any may. */
  overdue(end: "session-expired" | "life-limit"): void;
  /** A side knows its dialog no more, or says nothing. */
  dialogGone(): void;
}

export interface WatchParts {
  readonly clock: Clock;
  readonly sessionLimits: SessionLimits;
}

/**
 * Notices that both sides of an answered call have left it without BYE: by the session timer that they have agreed on
 * (RFC 4028), by OPTIONS within the dialogs, and at last by its age. Otherwise its places would be taken for good.
 */
export class SessionWatch {
  readonly #session: WatchedSession;
  readonly #legs: CallLegs;
  readonly #clock: Clock;
  readonly #limits: SessionLimits;
  #life: Timer | undefined;
  #ping: Timer | undefined;
  #expiry: Timer | undefined;
  /** Where the last ping did not get through. */
  readonly #unreached = new Set<Side>();

  constructor(session: WatchedSession, legs: CallLegs, { clock, sessionLimits }: WatchParts) {
    this.#session = session;
    this.#legs = legs;
    this.#clock = clock;
    this.#limits = sessionLimits;
  }

  /** `answer`: the fields of the agent's 2xx. Returns what `refreshed` does. */
  start(answer: Headers): Ms | undefined {
    const { "max-life-limit": life } = this.#limits;
    if (life > 0) this.#life = this.#clock.after(life * 1_000, () => this.#session.overdue("life-limit"));
    this.#pingLater();
    return this.refreshed(answer);
  }

  /**
   * `answer`: the fields of a 2xx to INVITE or UPDATE. One without Session-Expires ends the timer (RFC 4028 section 7.2).
   * Returns when the session expires unless it is refreshed: monotonic; undefined where no session timer runs.
   */
  refreshed(answer: Headers): Ms | undefined {
    this.#expiry?.cancel();
    this.#expiry = undefined;
    const seconds = Number.parseInt(answer["session-expires"] ?? "", 10);
    if (!(seconds > 0 && seconds <= longestExpires)) return undefined;
    this.#expiry = this.#clock.after(seconds * 1_000, () => this.#session.overdue("session-expired"));
    return this.#clock.now() + seconds * 1_000;
  }

  stop(): void {
    this.#life?.cancel();
    this.#ping?.cancel();
    this.#expiry?.cancel();
  }

  #pingLater(): void {
    const { "dialog-ping-interval": interval } = this.#limits;
    if (interval > 0) this.#ping = this.#clock.after(interval * 1_000, () => this.#pingBoth());
  }

  /** The next ones first: the call may end over these. */
  #pingBoth(): void {
    this.#pingLater();
    for (const side of ["caller", "agent"] as const) {
      const final = (outcome: Outcome): void => this.#pinged(side, outcome);
      this.#legs.send(side, { method: "OPTIONS", headers: {}, body: "" }, { provisional: () => {}, final });
    }
  }

  #pinged(side: Side, outcome: Outcome): void {
    // A network that fails for a moment ends no call: it has until the next ping.
    const secondChance = outcome.kind === "transport-failure" && !this.#unreached.has(side);
    if (secondChance) this.#unreached.add(side);
    else if (hasCall(outcome)) this.#unreached.delete(side);
    else this.#session.dialogGone();
  }
}

/** Any answer but 481 and 408 is one of a peer that has the call; what we have not sent says nothing. */
const hasCall = (outcome: Outcome): boolean =>
  outcome.kind === "refused" || (outcome.kind === "response" && !isGone(outcome.response.status));

/** Seconds: the longest life of a session that is minded. Longer ones are the age limit's. */
const longestExpires = 1_000_000;
