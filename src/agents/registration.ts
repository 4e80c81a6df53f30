import type { Ms } from "../clock.ts";

/** What brought the present state of a registration about. */
export interface RegistrationCause {
  readonly reason: "registration" | "registered";
  /** The answer to our REGISTER, where there was one. */
  readonly status?: number;
}

/** Whether an agent that must know us by a registration does. One that need not is never without. */
export class Registration {
  #missing: boolean;
  #since: Ms;
  #cause: RegistrationCause;

  constructor(needed: boolean, now: Ms) {
    this.#missing = needed;
    this.#since = now;
    this.#cause = { reason: needed ? "registration" : "registered" };
  }

  get missing(): boolean {
    return this.#missing;
  }

  get since(): Ms {
    return this.#since;
  }

  get cause(): RegistrationCause {
    return this.#cause;
  }

  /** True when that is news. */
  set(registered: boolean, now: Ms, status?: number): boolean {
    if (registered !== this.#missing) return false;
    this.#missing = !registered;
    this.#since = now;
    this.#cause = { reason: registered ? "registered" : "registration", ...(status !== undefined && { status }) };
    return true;
  }
}
