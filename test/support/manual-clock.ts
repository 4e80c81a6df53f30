import type { Clock, Ms, Timer } from "../../src/clock.ts";

interface Pending {
  readonly due: Ms;
  readonly order: number;
  readonly fire: () => void;
  cancelled: boolean;
}

/** A clock that stands still until `advance` moves it; timers fire in order of their due time. */
export class ManualClock implements Clock {
  #now: Ms;
  #order = 0;
  #pending: Pending[] = [];
  /** Wall clock minus monotonic clock; tests may step it. */
  dateOffset: Ms = 1_700_000_000_000;

  constructor(start: Ms = 1_000) {
    this.#now = start;
  }

  now(): Ms {
    return this.#now;
  }

  date(): Ms {
    return this.#now + this.dateOffset;
  }

  after(delay: Ms, fire: () => void): Timer {
    const pending: Pending = { due: this.#now + Math.max(0, delay), order: this.#order++, fire, cancelled: false };
    this.#pending.push(pending);
    return {
      cancel: () => {
        pending.cancelled = true;
        const at = this.#pending.indexOf(pending);
        if (at >= 0) this.#pending.splice(at, 1);
      },
    };
  }

  /** Moves time forward, firing what falls due on the way, timers set by timers included. */
  advance(by: Ms): void {
    const end = this.#now + by;
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#now = Math.max(this.#now, next.due);
      this.#pending.splice(this.#pending.indexOf(next), 1);
      next.fire();
    }
    this.#now = end;
  }

  /** Timers set and neither fired nor cancelled. */
  get pending(): number {
    return this.#pending.length;
  }

  #next(end: Ms): Pending | undefined {
    let first: Pending | undefined;
    for (const each of this.#pending) {
      if (each.due <= end && (!first || each.due < first.due || (each.due === first.due && each.order < first.order))) {
        first = each;
      }
    }
    return first;
  }
}
