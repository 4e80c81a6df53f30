import { emptyLine, PlainReader, type TextPosition } from "./plain-reader.ts";
import type { SourceNode } from "./source-node.ts";

/** Plain items of a list, one after the other. Only their place is kept; each is read when it is asked for. */
export class PlainItems implements Iterable<SourceNode> {
  readonly length: number;
  readonly #text: string;
  readonly #first: TextPosition;

  constructor(text: string, first: TextPosition, length: number) {
    this.#text = text;
    this.#first = first;
    this.length = length;
  }

  *[Symbol.iterator](): Iterator<SourceNode> {
    const reader = new PlainReader(this.#text, this.#first);
    for (let left = this.length; left > 0; left--) {
      const item = reader.item(this.#first.column);
      if (!item) throw new Error("a plain item is no longer one");
      yield item;
    }
  }
}

/** The quotes end a scalar before it that lacks its own, as those of the items would. */
const standIn = `- ~ # ' "\n`;

/** A key in the first column and nothing beside it. */
const section = /(?<![^\n])[A-Za-z][\w-]*: *(?: #[^\r\n]*)?\r?\n/g;
const firstSection = /(?:---\r?\n)?[A-Za-z][\w-]*:(?=[ \r\n])/y;
const firstItem = / {0,100}(?=- )/y;

/**
 * Sets plain items of the lists in the sections aside. The document must begin with a key in the first column, so that
 * every other line there is outside of all values and begins a section, a comment or what the YAML library refuses; and
 * a section's list likewise reaches over all lines that begin with a dash in the column of its first one.
 */
export function setPlainItemsAside(text: string): Remainder {
  const remainder = new Remainder(text);
  firstSection.lastIndex = afterEmptyLines(text, 0);
  if (!firstSection.test(text)) return remainder;
  for (section.lastIndex = 0; section.test(text); ) {
    firstItem.lastIndex = afterEmptyLines(text, section.lastIndex);
    const lineStart = firstItem.lastIndex;
    if (firstItem.test(text)) {
      const at = firstItem.lastIndex;
      section.lastIndex = remainder.setAside(at, at - lineStart);
    }
  }
  return remainder;
}

function afterEmptyLines(text: string, from: number): number {
  let at = from;
  for (emptyLine.lastIndex = at; at < text.length && emptyLine.test(text); ) at = emptyLine.lastIndex;
  return at;
}

interface Lines {
  readonly starts: number[];
  readonly numbers: number[];
}

/** What is left of a text when its plain items are set aside: a stand-in (`- ~`) where a run of them was. */
export class Remainder {
  readonly #whole: string;
  readonly #parts: string[] = [];
  #length = 0;
  /** Up to where the whole is in the parts or set aside. */
  #done = 0;
  readonly #aside = new Map<number, PlainItems>();
  /** Lines of the remainder that stand for more than one, and how many are missing after them. */
  readonly #gaps: { readonly line: number; readonly missing: number }[] = [];
  readonly #counted = { at: 0, line: 1 };
  #text: string | undefined;
  #lines: Lines | undefined;

  constructor(whole: string) {
    this.#whole = whole;
  }

  get text(): string {
    this.#text ??= this.#parts.join("") + this.#whole.slice(this.#done);
    return this.#text;
  }

  /** The items that a node of the remainder stands for, by the offset of the node. */
  standsFor(offset: number): PlainItems | undefined {
    return this.#aside.get(offset);
  }

  /** The line of the whole text that an offset of the remainder is from. The library's own count is not right after errors. */
  lineAt(offset: number): number {
    this.#lines ??= this.#countLines();
    const { starts, numbers } = this.#lines;
    let [from, to] = [1, starts.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((starts[middle] ?? 0) <= offset) from = middle + 1;
      else to = middle;
    }
    return numbers[from - 1] ?? 1;
  }

  /** Where each line of the remainder begins, and which line of the whole text it was. */
  #countLines(): Lines {
    const { text } = this;
    const lines: Lines = { starts: [0], numbers: [1] };
    let gap = 0;
    for (let at = text.indexOf("\n") + 1; at > 0; at = text.indexOf("\n", at) + 1) {
      const before = lines.starts.length;
      if (this.#gaps[gap]?.line === before) gap++;
      lines.starts.push(at);
      lines.numbers.push(before + 1 + (this.#gaps[gap - 1]?.missing ?? 0));
    }
    return lines;
  }

  /** Sets the plain items of the list aside whose first dash stands at an offset and a column. The offset where it ends. */
  setAside(firstDash: number, column: number): number {
    const dash = new RegExp(` {${column}}-(?=[ \\r\\n])`, "y");
    const notDeeper = new RegExp(`\\n(?= {0,${column}}[^ \\r\\n#])`, "g");
    let lineStart = firstDash - column;
    for (dash.lastIndex = lineStart; dash.test(this.#whole); dash.lastIndex = lineStart) {
      const afterRun = this.#run({ at: lineStart + column, line: this.#lineAt(lineStart), column });
      if (afterRun > lineStart) lineStart = afterRun;
      else {
        notDeeper.lastIndex = lineStart;
        lineStart = notDeeper.test(this.#whole) ? notDeeper.lastIndex : this.#whole.length;
      }
    }
    return lineStart;
  }

  /** Sets aside the plain items from here on. Where the first line begins that is none of theirs. */
  #run(first: TextPosition): number {
    const reader = new PlainReader(this.#whole, first);
    let { lineStart, end } = reader;
    let length = 0;
    for (; reader.item(first.column); length++) ({ lineStart, end } = reader);
    if (length === 0) return lineStart;
    const before = this.#whole.slice(this.#done, first.at);
    const missing = this.#gaps.at(-1)?.missing ?? 0;
    this.#aside.set(this.#length + before.length + 2, new PlainItems(this.#whole, first, length));
    this.#add(before + standIn);
    this.#gaps.push({ line: first.line - missing, missing: missing + end.line - first.line - 1 });
    this.#done = end.at;
    return lineStart;
  }

  #add(part: string): void {
    this.#parts.push(part);
    this.#length += part.length;
  }

  #lineAt(offset: number): number {
    for (let at = this.#counted.at; at < offset; at++) if (this.#whole.charCodeAt(at) === 10) this.#counted.line++;
    this.#counted.at = offset;
    return this.#counted.line;
  }
}
