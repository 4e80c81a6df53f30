import type { Ms } from "../clock.ts";
import type { AttemptWindow, Scope } from "./attempt-window.ts";
import { RateLimit, roundingSlack } from "./rate-limit.ts";

/** Attempts per second in the current fixed window: full once the window holds rate × length of them. */
export class BurstLimit extends RateLimit {
  value(now: Ms): number {
    return burstRate(this.window, this.scope, now);
  }

  full(now: Ms): boolean {
    return this.spare(now) <= roundingSlack;
  }

  spare(now: Ms): number {
    return (this.maximum * this.window.lengthMs) / 1000 - this.window.current(this.scope, now);
  }

  turnsAt(now: Ms): Ms {
    return this.full(now) ? this.window.endsAt(now) : Number.POSITIVE_INFINITY;
  }
}

/** Attempts per second in the current window, over its whole length. */
export function burstRate(window: AttemptWindow, scope: Scope, now: Ms): number {
  return (window.current(scope, now) * 1000) / window.lengthMs;
}
