import type { Ms } from "../clock.ts";
import type { Direction } from "./direction.ts";

/** What a count covers: one direction, or both together. */
export type Scope = Direction | "total";

/** How long the windows are that attempts are counted in. */
export interface WindowLengths {
  readonly burstMs: Ms;
  readonly sustainMs: Ms;
}

/**
 * Attempts by direction, in the current burst window, the current sustain window and the sustain window before it
 * (SEMANTICS section 3). Windows are fixed and aligned to the clock: window n covers [n × length, (n + 1) × length). Counting
 * and reading are O(1) and allocate nothing. Every attempt touches both kinds of window, and with thousands of agents each
 * object is a trip to memory, so that they are one.
 *
 * Reading moves a window on to `now` first. That changes how the counts are kept, never what they say.
 */
export class AttemptCounts {
  #burstMs: Ms;
  #sustainMs: Ms;
  #burstIndex: number;
  #burstInbound = 0;
  #burstOutbound = 0;
  #sustainIndex: number;
  #inbound = 0;
  #outbound = 0;
  #previousInbound = 0;
  #previousOutbound = 0;

  constructor({ burstMs, sustainMs }: WindowLengths, now: Ms) {
    this.#burstMs = burstMs;
    this.#sustainMs = sustainMs;
    this.#burstIndex = Math.floor(now / burstMs);
    this.#sustainIndex = Math.floor(now / sustainMs);
  }

  get burstMs(): Ms {
    return this.#burstMs;
  }

  get sustainMs(): Ms {
    return this.#sustainMs;
  }

  count(direction: Direction, now: Ms): void {
    this.#moveBurst(now);
    this.#moveSustain(now);
    if (direction === "inbound") {
      this.#burstInbound++;
      this.#inbound++;
    } else {
      this.#burstOutbound++;
      this.#outbound++;
    }
  }

  /** In the current burst window. */
  inBurst(scope: Scope, now: Ms): number {
    this.#moveBurst(now);
    return of(scope, this.#burstInbound, this.#burstOutbound);
  }

  /** In the current sustain window. */
  inSustain(scope: Scope, now: Ms): number {
    this.#moveSustain(now);
    return of(scope, this.#inbound, this.#outbound);
  }

  /** In the sustain window before the current one. */
  before(scope: Scope, now: Ms): number {
    this.#moveSustain(now);
    return of(scope, this.#previousInbound, this.#previousOutbound);
  }

  /** Milliseconds since the current sustain window began. */
  sustainElapsed(now: Ms): Ms {
    return now - Math.floor(now / this.#sustainMs) * this.#sustainMs;
  }

  burstEndsAt(now: Ms): Ms {
    return endOf(this.#burstMs, now);
  }

  sustainEndsAt(now: Ms): Ms {
    return endOf(this.#sustainMs, now);
  }

  /** Other lengths: the attempts of the current windows stay counted, so that a change lets no extra burst through. */
  resize({ burstMs, sustainMs }: WindowLengths, now: Ms): void {
    if (burstMs !== this.#burstMs) {
      this.#moveBurst(now);
      this.#burstMs = burstMs;
      this.#burstIndex = Math.floor(now / burstMs);
    }
    if (sustainMs !== this.#sustainMs) {
      this.#moveSustain(now);
      this.#sustainMs = sustainMs;
      this.#sustainIndex = Math.floor(now / sustainMs);
      this.#setPrevious(0, 0);
    }
  }

  #moveBurst(now: Ms): void {
    const index = Math.floor(now / this.#burstMs);
    if (index === this.#burstIndex) return;
    // With a clock that jumped back, what was counted stands in the window at hand.
    if (index > this.#burstIndex) {
      this.#burstInbound = 0;
      this.#burstOutbound = 0;
    }
    this.#burstIndex = index;
  }

  #moveSustain(now: Ms): void {
    const index = Math.floor(now / this.#sustainMs);
    if (index === this.#sustainIndex) return;
    if (index === this.#sustainIndex + 1) this.#setPrevious(this.#inbound, this.#outbound);
    else this.#setPrevious(0, 0);
    // As above.
    if (index > this.#sustainIndex) {
      this.#inbound = 0;
      this.#outbound = 0;
    }
    this.#sustainIndex = index;
  }

  #setPrevious(inbound: number, outbound: number): void {
    this.#previousInbound = inbound;
    this.#previousOutbound = outbound;
  }
}

const endOf = (lengthMs: Ms, now: Ms): Ms => (Math.floor(now / lengthMs) + 1) * lengthMs;

function of(scope: Scope, inbound: number, outbound: number): number {
  if (scope === "total") return inbound + outbound;
  return scope === "inbound" ? inbound : outbound;
}
