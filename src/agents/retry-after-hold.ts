import type { Ms } from "../clock.ts";
import type { Limit } from "./limit.ts";
import type { AgentParams } from "./params.ts";

/** The hold that a 503 with Retry-After puts on an agent (SEMANTICS section 8). It only ever grows longer. */
export class RetryAfterHold implements Limit {
  readonly name = "retry-after";
  readonly scope = "outbound";
  #params: AgentParams;
  #until: Ms = Number.NEGATIVE_INFINITY;

  constructor(params: AgentParams) {
    this.#params = params;
  }

  /** Seconds; 0 = Retry-After is ignored. */
  get maximum(): number {
    return this.#params["max-retry-after"];
  }

  hold(retryAfterS: number, now: Ms): void {
    this.#until = Math.max(this.#until, now + Math.min(retryAfterS, this.maximum) * 1000);
  }

  /** Seconds left. */
  value(now: Ms): number {
    return Math.max(0, this.#until - now) / 1000;
  }

  full(now: Ms): boolean {
    return now < this.#until;
  }

  spare(now: Ms): number {
    return this.full(now) ? 0 : Number.POSITIVE_INFINITY;
  }

  turnsAt(now: Ms): Ms {
    return this.full(now) ? this.#until : Number.POSITIVE_INFINITY;
  }

  /** A lower cap shortens a hold that is on. */
  configure(params: AgentParams, now: Ms): void {
    this.#params = params;
    this.#until = Math.min(this.#until, now + this.maximum * 1000);
  }
}
