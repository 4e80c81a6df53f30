import type { Ms } from "../clock.ts";
import { type Hold, isOn } from "./hold.ts";
import type { Limit } from "./limit.ts";
import type { AgentParams } from "./params.ts";

/** The hold that a 503 with Retry-After puts on an agent (SEMANTICS section 8). While it is on it only grows longer. */
export class RetryAfterHold implements Limit {
  readonly name = "retry-after";
  readonly scope = "outbound";
  #params: AgentParams;
  #hold: Hold | undefined;

  constructor(params: AgentParams) {
    this.#params = params;
  }

  /** Seconds; 0 = Retry-After is ignored. */
  get maximum(): number {
    return this.#params["max-retry-after"];
  }

  hold(retryAfterS: number, now: Ms): void {
    const until = now + Math.min(retryAfterS, this.maximum) * 1000;
    this.#hold = { from: now, until: isOn(this.#hold, now) ? Math.max(this.#hold.until, until) : until };
  }

  /** Seconds left. */
  value(now: Ms): number {
    return isOn(this.#hold, now) ? (this.#hold.until - now) / 1000 : 0;
  }

  full(now: Ms): boolean {
    return isOn(this.#hold, now);
  }

  spare(now: Ms): number {
    return this.full(now) ? 0 : Number.POSITIVE_INFINITY;
  }

  turnsAt(now: Ms): Ms {
    return isOn(this.#hold, now) ? this.#hold.until : Number.POSITIVE_INFINITY;
  }

  /** A lower cap shortens a hold that is on. */
  configure(params: AgentParams, now: Ms): void {
    this.#params = params;
    if (this.#hold) this.#hold = { ...this.#hold, until: Math.min(this.#hold.until, now + this.maximum * 1000) };
  }
}
