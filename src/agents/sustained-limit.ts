import type { Ms } from "../clock.ts";
import type { AttemptCounts, Scope } from "./attempt-counts.ts";
import { RateLimit, roundingSlack } from "./rate-limit.ts";

/** Attempts per second averaged over the previous window and what has passed of the current one, one more included. */
export class SustainedLimit extends RateLimit {
  value(now: Ms): number {
    return sustainedRate(this.attempts, this.scope, now, 1);
  }

  full(now: Ms): boolean {
    return this.#withOneMore(now) > this.#allowedIn(this.attempts.sustainMs + this.attempts.sustainElapsed(now));
  }

  spare(now: Ms): number {
    const { attempts, scope } = this;
    const { sustainMs } = attempts;
    const current = attempts.inSustain(scope, now);
    const room = this.#allowedIn(sustainMs + attempts.sustainElapsed(now)) - attempts.before(scope, now) - current;
    const roomAtNextWindow = this.#allowedIn(sustainMs) - current;
    return Math.floor(roomAtNextWindow < 1 ? room : Math.min(room, roomAtNextWindow));
  }

  /**
   * Full: when the average will have fallen far enough, at the end of the window at the latest. Not full: the end of the
   * window when it will be full there, as the average then forgets a quieter window.
   */
  turnsAt(now: Ms): Ms {
    const { sustainMs } = this.attempts;
    const endsAt = this.attempts.sustainEndsAt(now);
    if (this.full(now)) {
      const spanMs = ((this.#withOneMore(now) - roundingSlack) * 1000) / this.maximum;
      return Math.min(endsAt, endsAt - 2 * sustainMs + spanMs);
    }
    const fullThere = this.attempts.inSustain(this.scope, now) + 1 > this.#allowedIn(sustainMs);
    return fullThere ? endsAt : Number.POSITIVE_INFINITY;
  }

  #withOneMore(now: Ms): number {
    return this.attempts.before(this.scope, now) + this.attempts.inSustain(this.scope, now) + 1;
  }

  #allowedIn(spanMs: Ms): number {
    return (this.maximum * spanMs) / 1000 + roundingSlack;
  }
}

/** Attempts per second over one to two windows, with `more` attempts on top. */
export function sustainedRate(attempts: AttemptCounts, scope: Scope, now: Ms, more = 0): number {
  const counted = attempts.before(scope, now) + attempts.inSustain(scope, now) + more;
  return (counted * 1000) / (attempts.sustainMs + attempts.sustainElapsed(now));
}
