import type { Clock, Ms, Timer } from "../clock.ts";

/** The share of the time that the process had no rest, 0 to 1, since it was last asked. */
export type LoadGauge = () => number;

const sampleTime: Ms = 500;
/** Samples in a row at the limit before anything is refused: a burst or a collection of garbage is no overload. */
const patience = 4;
/** Percent of the new requests: how many more, or fewer, are refused after each sample, and how many at most. */
const increase = 10;
const decrease = 5;
const mostRefused = 90;
/** Below this share of the limit nothing is refused any more, at once. */
const relaxed = 0.5;

export interface OverloadGuardParts {
  readonly clock: Clock;
  readonly load: LoadGauge;
  /** Hears when it begins to refuse, and when it has stopped. */
  readonly changed?: (overloaded: boolean, load: number) => void;
}

/**
 * Refuses as much of the new work as the process has no time for, so that what it takes is done in time: where everything is
 * taken, all wait, all repeat themselves, and nothing is finished (SEMANTICS.md section 7, compare RFC 7339).
 */
export class OverloadGuard {
  readonly #limit: number;
  readonly #parts: OverloadGuardParts;
  #timer: Timer | undefined;
  #load = 0;
  #samplesAtLimit = 0;
  /** Percent of the new requests. */
  #refused = 0;
  /** Percent of a request that is to be refused; at 100 the next one is. */
  #due = 0;

  /** `limit`: percent, 0 = refuse nothing. */
  constructor(limit: number, parts: OverloadGuardParts) {
    this.#limit = limit / 100;
    this.#parts = parts;
  }

  /** The share of the time without rest in the last half second, 0 to 1. */
  get load(): number {
    return this.#load;
  }

  start(): void {
    this.#parts.load();
    this.#sampleLater();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** Asked once for each new request: whether it is one to refuse. They are spread evenly. */
  refuses(): boolean {
    this.#due += this.#refused;
    if (this.#due < 100) return false;
    this.#due -= 100;
    return true;
  }

  #sampleLater(): void {
    this.#timer = this.#parts.clock.after(sampleTime, () => {
      this.#sample(this.#parts.load());
      this.#sampleLater();
    });
  }

  #sample(load: number): void {
    this.#load = load;
    if (this.#limit === 0) return;
    const before = this.#refused;
    this.#samplesAtLimit = load < this.#limit ? 0 : this.#samplesAtLimit + 1;
    if (this.#samplesAtLimit >= patience) this.#refused = Math.min(mostRefused, before + increase);
    else if (load < this.#limit * relaxed) this.#refused = 0;
    else if (load < this.#limit) this.#refused = Math.max(0, before - decrease);
    if (this.#refused === 0) this.#due = 0;
    if (before > 0 !== this.#refused > 0) this.#parts.changed?.(this.#refused > 0, load);
  }
}
