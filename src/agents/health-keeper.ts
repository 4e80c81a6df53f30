import type { Clock, Ms, Timer } from "../clock.ts";
import type { Evidence } from "./evidence.ts";
import {
  enter,
  type Health,
  type HealthCause,
  type HealthEvent,
  type HealthState,
  nextHealth,
  readEvidence,
  startOfHealth,
  timerOf,
} from "./health.ts";
import type { AgentParams } from "./params.ts";

/** What an agent's state needs of its health, which is that of one address, or of several together. */
export interface HealthFacts {
  readonly state: { readonly health: Health; readonly cause: HealthCause };
  /** When the timer of the present state is due, on the monotonic clock. */
  readonly dueAt: Ms | undefined;
  observe(evidence: Evidence, now: Ms): void;
  configure(params: AgentParams, now: Ms): void;
  stop(): void;
}

/** Drives the health table of one address: feeds it evidence, and keeps the one timer that its state waits for. */
export class HealthKeeper implements HealthFacts {
  readonly #clock: Clock;
  readonly #changed: (now: Ms) => void;
  #params: AgentParams;
  #state: HealthState;
  #timer: Timer | undefined;

  /** `changed` is called after the health, not merely a count, has changed. */
  constructor(params: AgentParams, clock: Clock, changed: (now: Ms) => void) {
    this.#params = params;
    this.#clock = clock;
    this.#changed = changed;
    this.#state = startOfHealth(clock.now());
  }

  get state(): HealthState {
    return this.#state;
  }

  get dueAt(): Ms | undefined {
    return timerOf(this.#state, this.#params)?.at;
  }

  /** Starts from another state than in service. Nobody is told: it is the first. */
  begin(health: Health, cause: HealthCause, now: Ms): void {
    this.#state = enter(health, now, cause);
    this.#setTimer(now);
  }

  observe(evidence: Evidence, now: Ms): void {
    const { event, cause } = readEvidence(evidence, this.#params);
    this.#apply(event, cause, now);
  }

  /** New times hold for the state at hand as well: its timer is set anew from when the state began. */
  configure(params: AgentParams, now: Ms): void {
    this.#params = params;
    this.#setTimer(now);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #apply(event: HealthEvent, cause: HealthCause, now: Ms): void {
    const before = this.#state;
    this.#state = nextHealth(before, event, { params: this.#params, now, cause });
    if (this.#state.health === before.health) return;
    this.#setTimer(now);
    this.#changed(now);
  }

  #setTimer(now: Ms): void {
    this.stop();
    const due = timerOf(this.#state, this.#params);
    if (!due) return;
    const reason = due.event === "resume-timer" ? "time-to-resume" : "in-service-period";
    // A state that is yet to begin is that of a clock that has jumped back since.
    const delay = Math.max(0, due.at - Math.max(now, this.#state.since));
    this.#timer = this.#clock.after(delay, () => this.#apply(due.event, { reason }, this.#clock.now()));
  }
}
