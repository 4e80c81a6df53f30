/** What must be true before traffic should be sent here; the first part that is not yet, or no longer, makes it unready. */
export class Readiness {
  readonly #missing = new Set<string>();

  constructor(parts: readonly string[]) {
    for (const part of parts) this.#missing.add(part);
  }

  set(part: string, ready: boolean): void {
    if (ready) this.#missing.delete(part);
    else this.#missing.add(part);
  }

  /** Empty = ready. */
  missing(): readonly string[] {
    return [...this.#missing];
  }
}
