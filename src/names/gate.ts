/** Lets a bounded number of jobs run at a time; the others wait in order. */
export class Gate {
  readonly #width: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(width: number) {
    this.#width = width;
  }

  async pass<T>(job: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#width) await new Promise<void>((enter) => this.#waiting.push(enter));
    else this.#running++;
    try {
      return await job();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }
}
