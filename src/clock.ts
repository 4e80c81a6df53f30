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

const known = new WeakMap<Clock, Ms>();
/** Milliseconds. Reading two clocks is no more exact than the wall clock's own step and a pause between the two readings. */
const inexactness = 5;

/**
 * What turns moments into dates: the wall clock's lead over the monotonic one. It stays the same until the wall clock is set,
 * so that a moment is shown by one date.
 */
export function wallMinusMonotonic(clock: Clock): Ms {
  const seen = clock.date() - clock.now();
  const before = known.get(clock);
  if (before !== undefined && Math.abs(seen - before) <= inexactness) return before;
  known.set(clock, seen);
  return seen;
}
