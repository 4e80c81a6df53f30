import type { Clock, Ms, Timer } from "../clock.ts";
import type { AgentEvents } from "./agent-events.ts";
import type { Constraints } from "./constraints.ts";
import type { HealthFacts } from "./health-keeper.ts";
import type { LimitName } from "./limit.ts";
import type { Meters } from "./meters.ts";
import type { Registration } from "./registration.ts";
import type { AdminState, StateChange, StateLetter, StateReason } from "./state.ts";

/** The independent facts that the state follows from (SEMANTICS section 2). */
export interface Facts {
  admin: AdminState;
  registration: Registration;
  constraints: Constraints;
  health: HealthFacts;
  readonly meters: Meters;
}

const transitionsKept = 50;

/**
 * The state that an agent shows. It is derived, never stored for its own sake; what is kept here is what was last
 * announced, so that each change raises exactly one event, those that only the passing of time brings included.
 */
export class ShownState {
  readonly #hostname: string;
  readonly #facts: Facts;
  readonly #clock: Clock;
  readonly #events: AgentEvents;
  #letter: StateLetter;
  #since: Ms;
  #reason: StateReason = "start";
  /** The limit that holds the agent at C, or was the last to. */
  #heldBy: LimitName | undefined;
  /** When time alone may next change the letter: Infinity, or a timer is set for it. */
  #turnsAt = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;
  /** Attempts before `#spareUntil` that surely leave letter and timer as they are. */
  #spare = 0;
  #spareUntil = Number.NEGATIVE_INFINITY;
  #transitions: StateChange[] | undefined;

  constructor(hostname: string, facts: Facts, clock: Clock, events: AgentEvents) {
    this.#hostname = hostname;
    this.#facts = facts;
    this.#clock = clock;
    this.#events = events;
    this.#since = clock.now();
    this.#letter = this.letterAt(this.#since);
  }

  /** When the letter last changed, on the monotonic clock. */
  get since(): Ms {
    return this.#since;
  }

  /** The last changes, oldest first. */
  get transitions(): readonly StateChange[] {
    return this.#transitions ?? [];
  }

  letterAt(now: Ms): StateLetter {
    const { admin, registration, health, constraints } = this.#facts;
    if (admin !== "enabled") return "D";
    // Without a registration it would refuse us, or bill somebody else, however well it is.
    if (registration.missing) return "O";
    if (health.state.health === "out-of-service") return "O";
    if (health.state.health === "standby") return "S";
    return constraints.firstFull(now) ? "C" : "I";
  }

  reasonAt(now: Ms): StateReason {
    const { admin, registration, health, constraints } = this.#facts;
    const letter = this.letterAt(now);
    if (letter === "D") return admin;
    if (registration.missing) return registration.cause.reason;
    if (letter === "C") return constraints.firstFull(now)?.name ?? this.#reason;
    return letter === "I" ? this.#reason : health.state.cause.reason;
  }

  /** The letter of this moment. Announces it first where time alone has changed it and the timer is not through yet. */
  current(now: Ms): StateLetter {
    if (this.#letter === "C" || now >= this.#turnsAt) this.refresh(now);
    return this.#letter;
  }

  /** The same without announcing anything. */
  peek(now: Ms): StateLetter {
    return this.#letter === "C" || now >= this.#turnsAt ? this.letterAt(now) : this.#letter;
  }

  /** To be called whenever one of the facts may have changed. */
  refresh(now: Ms): void {
    const letter = this.letterAt(now);
    if (letter === "C") this.#heldBy = this.#facts.constraints.firstFull(now)?.name;
    if (letter !== this.#letter) this.#change(letter, now);
    if (letter === "I" || letter === "C") this.#watch(now);
    this.#spare = letter === "I" ? this.#facts.constraints.spare(now) : 0;
    this.#spareUntil = this.#facts.meters.sustainEndsAt(now);
  }

  /** One more attempt was counted. */
  counted(now: Ms): void {
    this.#spare--;
    if (this.#spare < 1 || now >= this.#spareUntil) this.refresh(now);
  }

  /** A session ended. That can only make room, so it matters to an agent that showed none. */
  freed(): void {
    if (this.#letter === "C") this.refresh(this.#clock.now());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#turnsAt = Number.POSITIVE_INFINITY;
  }

  /** A timer already set for an earlier moment is left: it looks again, and sets the next. */
  #watch(now: Ms): void {
    const at = this.#facts.constraints.turnsAt(now);
    if (at >= this.#turnsAt) return;
    this.#timer?.cancel();
    this.#turnsAt = at;
    // Rounded up, as timers of whole milliseconds would fire just before a moment between two of them.
    this.#timer = this.#clock.after(Math.ceil(at - now), () => {
      this.#turnsAt = Number.POSITIVE_INFINITY;
      this.refresh(this.#clock.now());
    });
  }

  #change(to: StateLetter, now: Ms): void {
    const from = this.#letter;
    const change: StateChange = {
      hostname: this.#hostname,
      from,
      to,
      at: this.#clock.date(),
      ...this.#why(from, to, now),
    };
    this.#letter = to;
    this.#since = now;
    this.#reason = change.reason;
    this.#transitions ??= [];
    this.#transitions.push(change);
    if (this.#transitions.length > transitionsKept) this.#transitions.shift();
    this.#events.announce("state-changed", change);
  }

  #why(from: StateLetter, to: StateLetter, now: Ms): Pick<StateChange, "reason" | "limit" | "value" | "maximum"> {
    const { admin, registration, health, constraints } = this.#facts;
    if (to === "D") return { reason: admin };
    if (registration.missing || (from === "O" && registration.since > this.#since)) return registration.cause;
    if (this.#heldBy && (to === "C" || (to === "I" && from === "C"))) {
      const { limit, value, maximum } = constraints.measure(this.#heldBy, now);
      return { reason: limit, limit, value, maximum };
    }
    return to === "I" && from === "D" ? { reason: "enabled" } : health.state.cause;
  }
}
