import type { Ms } from "../clock.ts";
import type { Direction } from "./direction.ts";

/** What a count covers: one direction, or both together. */
export type Scope = Direction | "total";

/**
 * Attempts in the current fixed window and in the one before it, by direction (SEMANTICS section 3). Windows are aligned
 * to the clock: window n covers [n × length, (n + 1) × length). Counting and reading are O(1) and allocate nothing.
 *
 * Reading moves the window on to `now` first. That changes how the counts are kept, never what they say.
 */
export class AttemptWindow {
  #lengthMs: Ms;
  #index: number;
  #inbound = 0;
  #outbound = 0;
  #previousInbound = 0;
  #previousOutbound = 0;

  constructor(lengthMs: Ms, now: Ms) {
    this.#lengthMs = lengthMs;
    this.#index = Math.floor(now / lengthMs);
  }

  get lengthMs(): Ms {
    return this.#lengthMs;
  }

  count(direction: Direction, now: Ms): void {
    this.#moveTo(now);
    if (direction === "inbound") this.#inbound++;
    else this.#outbound++;
  }

  current(scope: Scope, now: Ms): number {
    this.#moveTo(now);
    if (scope === "total") return this.#inbound + this.#outbound;
    return scope === "inbound" ? this.#inbound : this.#outbound;
  }

  previous(scope: Scope, now: Ms): number {
    this.#moveTo(now);
    if (scope === "total") return this.#previousInbound + this.#previousOutbound;
    return scope === "inbound" ? this.#previousInbound : this.#previousOutbound;
  }

  /** Milliseconds since the current window began. */
  elapsed(now: Ms): Ms {
    return now - Math.floor(now / this.#lengthMs) * this.#lengthMs;
  }

  /** When the current window ends. */
  endsAt(now: Ms): Ms {
    return (Math.floor(now / this.#lengthMs) + 1) * this.#lengthMs;
  }

  /** Another length: the attempts of the current window stay counted, so that a change lets no extra burst through. */
  resize(lengthMs: Ms, now: Ms): void {
    if (lengthMs === this.#lengthMs) return;
    this.#moveTo(now);
    this.#lengthMs = lengthMs;
    this.#restart(Math.floor(now / lengthMs));
  }

  #moveTo(now: Ms): void {
    const index = Math.floor(now / this.#lengthMs);
    if (index === this.#index) return;
    if (index < this.#index) {
      this.#restart(index);
      return;
    }
    const next = index === this.#index + 1;
    this.#previousInbound = next ? this.#inbound : 0;
    this.#previousOutbound = next ? this.#outbound : 0;
    this.#inbound = 0;
    this.#outbound = 0;
    this.#index = index;
  }

  /** A clock that jumped back, or a new length: what was counted now stands in the window at hand, and nothing before it. */
  #restart(index: number): void {
    this.#previousInbound = 0;
    this.#previousOutbound = 0;
    this.#index = index;
  }
}
