import type { Ms } from "../clock.ts";
import type { Scope } from "./attempt-counts.ts";
import type { Limit, LimitName } from "./limit.ts";
import type { SessionCounts } from "./session-counts.ts";

/** Concurrent sessions: full at the maximum, as one more would exceed it. */
export class ConcurrentLimit implements Limit {
  readonly name: LimitName;
  readonly scope: Scope;
  readonly maximum: number;
  readonly #counts: SessionCounts;

  constructor(name: LimitName, scope: Scope, maximum: number, counts: SessionCounts) {
    this.name = name;
    this.scope = scope;
    this.maximum = maximum;
    this.#counts = counts;
  }

  value(): number {
    return this.#counts.active(this.scope);
  }

  full(): boolean {
    return this.#counts.active(this.scope) >= this.maximum;
  }

  spare(): number {
    return this.maximum - this.#counts.active(this.scope);
  }

  turnsAt(): Ms {
    return Number.POSITIVE_INFINITY;
  }
}
