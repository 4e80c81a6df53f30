/** Milliseconds. A duration, or a moment on the monotonic clock of this process. */
export type Ms = number;

/** A pending `Clock.after`. `cancel` after it fired, or twice, does nothing. */
export interface Timer {
  cancel(): void;
}

/**
 * The only source of time below the composition root, so that tests move it by hand (`ManualClock`).
 * `now` is monotonic: a step of the wall clock never moves it.
 */
export interface Clock {
  /** Monotonic milliseconds since an arbitrary moment. */
  now(): Ms;
  /** Wall-clock milliseconds since 1970, for showing to people and for schedules; never for measuring. */
  date(): Ms;
  /** Calls `fire` once, `delay` milliseconds from now (0 = as soon as possible, never synchronously). */
  after(delay: Ms, fire: () => void): Timer;
}

class SystemTimer implements Timer {
  readonly #handle: NodeJS.Timeout;

  constructor(delay: Ms, fire: () => void) {
    this.#handle = setTimeout(fire, delay);
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }
}

export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => Date.now(),
  after: (delay, fire) => new SystemTimer(delay, fire),
};
