import type { Ms } from "../clock.ts";

/** Length of the windows it looks back over: this one and the one before. */
const windowMs: Ms = 60_000;

export interface LatencyView {
  /** Milliseconds. */
  readonly average: number;
  readonly maximum: number;
}

class Tally {
  count = 0;
  sum: Ms = 0;
  maximum: Ms = 0;
}

/** How long an agent takes for its first response to a request, pings included, over the last one to two minutes. */
export class Latency {
  #window = 0;
  #current = new Tally();
  #previous = new Tally();

  record(latency: Ms, now: Ms): void {
    this.#turn(now);
    this.#current.count++;
    this.#current.sum += latency;
    if (latency > this.#current.maximum) this.#current.maximum = latency;
  }

  /** Null while nothing was answered. */
  view(now: Ms): LatencyView | null {
    this.#turn(now);
    const [current, previous] = [this.#current, this.#previous];
    const count = current.count + previous.count;
    if (count === 0) return null;
    return { average: (current.sum + previous.sum) / count, maximum: Math.max(current.maximum, previous.maximum) };
  }

  #turn(now: Ms): void {
    const window = Math.floor(now / windowMs);
    if (window === this.#window) return;
    this.#previous = window === this.#window + 1 ? this.#current : new Tally();
    this.#current = new Tally();
    this.#window = window;
  }
}
