import type { Ms } from "../clock.ts";
import type { AttemptWindow, Scope } from "./attempt-window.ts";
import { RateLimit, roundingSlack } from "./rate-limit.ts";

/** Attempts per second averaged over the previous window and what has passed of the current one, one more included. */
export class SustainedLimit extends RateLimit {
  value(now: Ms): number {
    return sustainedRate(this.window, this.scope, now, 1);
  }

  full(now: Ms): boolean {
    return this.#withOneMore(now) > this.#allowedIn(this.window.lengthMs + this.window.elapsed(now));
  }

  spare(now: Ms): number {
    const { lengthMs } = this.window;
    const current = this.window.current(this.scope, now);
    const room = this.#allowedIn(lengthMs + this.window.elapsed(now)) - this.window.previous(this.scope, now) - current;
    const roomAtNextWindow = this.#allowedIn(lengthMs) - current;
    return Math.floor(roomAtNextWindow < 1 ? room : Math.min(room, roomAtNextWindow));
  }

  /**
   * Full: when the average will have fallen far enough, at the end of the window at the latest. Not full: the end of the
   * window when it will be full there, as the average then forgets a quieter window.
   */
  turnsAt(now: Ms): Ms {
    const { lengthMs } = this.window;
    const endsAt = this.window.endsAt(now);
    if (this.full(now)) {
      const spanMs = ((this.#withOneMore(now) - roundingSlack) * 1000) / this.maximum;
      return Math.min(endsAt, endsAt - 2 * lengthMs + spanMs);
    }
    const fullThere = this.window.current(this.scope, now) + 1 > this.#allowedIn(lengthMs);
    return fullThere ? endsAt : Number.POSITIVE_INFINITY;
  }

  #withOneMore(now: Ms): number {
    return this.window.previous(this.scope, now) + this.window.current(this.scope, now) + 1;
  }

  #allowedIn(spanMs: Ms): number {
    return (this.maximum * spanMs) / 1000 + roundingSlack;
  }
}

/** Attempts per second over one to two windows, with `more` attempts on top. */
export function sustainedRate(window: AttemptWindow, scope: Scope, now: Ms, more = 0): number {
  const attempts = window.previous(scope, now) + window.current(scope, now) + more;
  return (attempts * 1000) / (window.lengthMs + window.elapsed(now));
}
