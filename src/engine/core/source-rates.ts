import type { Clock, Ms } from "../../clock.ts";

/** Addresses counted within a window. More than that come only where senders forge theirs, and no count helps there. */
const maxSources = 65_536;

/** Counts requests by source in fixed windows. */
export class SourceRates {
  /** Requests not counted, as there were too many sources. */
  untracked = 0;
  readonly #clock: Clock;
  readonly #window: Ms;
  readonly #most: number;
  readonly #counts = new Map<string, number>();
  #endsAt: Ms = Number.NEGATIVE_INFINITY;

  /** `rate`: requests per second, more than 0. `window`: seconds. */
  constructor(rate: number, window: number, clock: Clock) {
    this.#clock = clock;
    this.#window = window * 1_000;
    this.#most = Math.max(1, Math.floor(rate * window));
  }

  /** Counts one request; false when it is one too many. */
  take(source: string): boolean {
    const now = this.#clock.now();
    if (now >= this.#endsAt) {
      this.#counts.clear();
      this.#endsAt = (Math.floor(now / this.#window) + 1) * this.#window;
    }
    const count = (this.#counts.get(source) ?? 0) + 1;
    if (count === 1 && this.#counts.size >= maxSources) {
      this.untracked++;
      return true;
    }
    this.#counts.set(source, count);
    return count <= this.#most;
  }
}
