/** The part of a terminal that the demo needs. */
export interface Terminal {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly rows?: number;
  readonly columns?: number;
}

const alternateScreen = "\x1b[?1049h\x1b[?25l";
const normalScreen = "\x1b[?25h\x1b[?1049l";
const home = "\x1b[H";
const clearLine = "\x1b[K";
const clearBelow = "\x1b[J";

/** Shows pages of lines: each in place of the last on a terminal, one below the other in a pipe or a file. */
export class Screen {
  readonly #terminal: Terminal;
  #open = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** True when a page takes the place of the one before. */
  get live(): boolean {
    return this.#terminal.isTTY === true;
  }

  show(lines: readonly string[]): void {
    if (!this.live) {
      this.#terminal.write(`${lines.join("\n")}\n\n`);
      return;
    }
    const { rows = 24, columns = 80 } = this.#terminal;
    const page = lines.slice(0, rows - 1).map((line) => `${line.slice(0, columns - 1)}${clearLine}\n`);
    this.#terminal.write(`${this.#open ? "" : alternateScreen}${home}${page.join("")}${clearBelow}`);
    this.#open = true;
  }

  /** Gives the terminal back as it was, and leaves these lines on it. */
  close(lines: readonly string[]): void {
    const restore = this.#open ? normalScreen : "";
    this.#open = false;
    this.#terminal.write(restore + lines.map((line) => `${line}\n`).join(""));
  }
}
