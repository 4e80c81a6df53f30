import type { Ms } from "../clock.ts";
import type { AttemptCounts, Scope } from "./attempt-counts.ts";
import type { Limit, LimitName } from "./limit.ts";

/** A limit on attempts per second. `maximum` is above 0; a rate of 0 is no limit and has no object. */
export abstract class RateLimit implements Limit {
  constructor(
    readonly name: LimitName,
    readonly scope: Scope,
    readonly maximum: number,
    protected readonly attempts: AttemptCounts,
  ) {}

  abstract value(now: Ms): number;
  abstract full(now: Ms): boolean;
  abstract spare(now: Ms): number;
  abstract turnsAt(now: Ms): Ms;
}

/** In attempts. Takes up the rounding of products: 0.1 × 30 is a little more than 3. */
export const roundingSlack = 1e-6;
