import type { Scope } from "./attempt-counts.ts";
import type { Direction } from "./direction.ts";

/** Concurrent sessions of one agent, by direction. */
export class SessionCounts {
  #inbound = 0;
  #outbound = 0;

  active(scope: Scope): number {
    if (scope === "total") return this.#inbound + this.#outbound;
    return scope === "inbound" ? this.#inbound : this.#outbound;
  }

  enter(direction: Direction): void {
    if (direction === "inbound") this.#inbound++;
    else this.#outbound++;
  }

  /** False when there was no session to end: a defect of the caller, and the count stays 0 (SEMANTICS section 3). */
  leave(direction: Direction): boolean {
    if (this.active(direction) === 0) return false;
    if (direction === "inbound") this.#inbound--;
    else this.#outbound--;
    return true;
  }
}
