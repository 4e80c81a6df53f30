/**
 * Payloads on their way to an application, handed over together at the end of the turn that made them. A payload queued
 * `apart` starts a new turn: what it says is about a dialog that an earlier payload of the same turn announces.
 */
export class FrameQueue {
  readonly #schedule: (stage: () => void) => void;
  readonly #sink: (payloads: readonly string[]) => void;
  #now: string[] = [];
  #later: string[] = [];
  #scheduled = false;

  constructor(schedule: (stage: () => void) => void, sink: (payloads: readonly string[]) => void) {
    this.#schedule = schedule;
    this.#sink = sink;
  }

  push(payload: string, apart = false): void {
    // Order holds: once something waits for the next turn, so does all that follows.
    const wait = this.#later.length > 0 || (apart && this.#now.length > 0);
    (wait ? this.#later : this.#now).push(payload);
    if (!this.#scheduled) {
      this.#scheduled = true;
      this.#schedule(this.#deliver);
    }
  }

  /** Drops everything: the application is gone. */
  clear(): void {
    this.#now = [];
    this.#later = [];
  }

  readonly #deliver = (): void => {
    this.#scheduled = false;
    const payloads = this.#now;
    this.#now = this.#later;
    this.#later = [];
    if (this.#now.length > 0) {
      this.#scheduled = true;
      this.#schedule(this.#deliver);
    }
    this.#sink(payloads);
  };
}
