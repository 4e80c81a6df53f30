/** How many server transactions may be alive. Each takes about 1 kB for 32 s. */
export interface TransactionLimits {
  /** From one address. */
  readonly perSource: number;
  readonly total: number;
}

/** Room for 3,000 calls/s (two requests each, kept for 32 s) from one carrier, and as many again from others. */
export const defaultLimits: TransactionLimits = { perSource: 200_000, total: 400_000 };

/** Counts server transactions by source address, so that one peer cannot fill the memory. */
export class TransactionCaps {
  readonly #limits: TransactionLimits;
  readonly #bySource = new Map<string, number>();
  #total = 0;

  constructor(limits: TransactionLimits) {
    this.#limits = limits;
  }

  /** Addresses with live transactions. */
  get sources(): number {
    return this.#bySource.size;
  }

  hasRoom(source: string): boolean {
    return this.#total < this.#limits.total && (this.#bySource.get(source) ?? 0) < this.#limits.perSource;
  }

  add(source: string): void {
    this.#total++;
    this.#bySource.set(source, (this.#bySource.get(source) ?? 0) + 1);
  }

  remove(source: string): void {
    this.#total--;
    const left = (this.#bySource.get(source) ?? 0) - 1;
    if (left > 0) this.#bySource.set(source, left);
    else this.#bySource.delete(source);
  }
}
