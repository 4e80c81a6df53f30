import type { Clock, Ms, Timer } from "../clock.ts";

/** Something that is due at a moment. */
export interface Due {
  due(): void;
}

interface Tick {
  readonly jobs: Set<Due>;
  readonly timer: Timer;
}

/**
 * Moments that many share. Whatever is due at one of them is done in one go and by one timer: timers of their own would wake
 * the program for each, and find its caches cold.
 */
export class Ticks {
  readonly #clock: Clock;
  readonly #ticks = new Map<Ms, Tick>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(at: Ms, job: Due): void {
    const tick = this.#ticks.get(at) ?? this.#begin(at);
    tick.jobs.add(job);
  }

  /** `at`: the moment it was added for. Nothing happens where it is through. */
  remove(at: Ms, job: Due): void {
    const tick = this.#ticks.get(at);
    if (!tick?.jobs.delete(job) || tick.jobs.size > 0) return;
    tick.timer.cancel();
    this.#ticks.delete(at);
  }

  #begin(at: Ms): Tick {
    // Rounded up, as timers of whole milliseconds would fire just before a moment between two of them.
    const delay = Math.max(0, Math.ceil(at - this.#clock.now()));
    const tick = { jobs: new Set<Due>(), timer: this.#clock.after(delay, () => this.#fire(at)) };
    this.#ticks.set(at, tick);
    return tick;
  }

  #fire(at: Ms): void {
    const jobs = this.#ticks.get(at)?.jobs ?? [];
    for (const job of jobs) {
      this.remove(at, job);
      job.due();
    }
  }
}
