import type { FailureListener } from "./transport.ts";

/** Those who want to know when a path fails. A listener that throws keeps none of the others from hearing it. */
export class FailureListeners {
  readonly #listeners = new Set<FailureListener>();
  readonly #defect: (error: unknown) => void;

  constructor(defect: (error: unknown) => void) {
    this.#defect = defect;
  }

  get size(): number {
    return this.#listeners.size;
  }

  /** Returns the way to remove it again. The same function added twice is two listeners. */
  add(listener: FailureListener): () => void {
    const entry: FailureListener = (error) => listener(error);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  announce(error: Error): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(error);
      } catch (thrown) {
        this.#defect(thrown);
      }
    }
  }
}
