import type { Ms } from "../clock.ts";
import type { AttemptCounts, Scope } from "./attempt-counts.ts";
import { RateLimit, roundingSlack } from "./rate-limit.ts";

/** Attempts per second in the current fixed window: full once the window holds rate × length of them. */
export class BurstLimit extends RateLimit {
  value(now: Ms): number {
    return burstRate(this.attempts, this.scope, now);
  }

  full(now: Ms): boolean {
    return this.spare(now) <= roundingSlack;
  }

  spare(now: Ms): number {
    return (this.maximum * this.attempts.burstMs) / 1000 - this.attempts.inBurst(this.scope, now);
  }

  turnsAt(now: Ms): Ms {
    return this.full(now) ? this.attempts.burstEndsAt(now) : Number.POSITIVE_INFINITY;
  }
}

/** Attempts per second in the current window, over its whole length. */
export function burstRate(attempts: AttemptCounts, scope: Scope, now: Ms): number {
  return (attempts.inBurst(scope, now) * 1000) / attempts.burstMs;
}
