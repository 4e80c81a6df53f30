import { isScalar, type ScalarTag, Schema } from "yaml";
import {
  type ListNode,
  type MapEntry,
  type MapNode,
  nothing,
  type ScalarNode,
  type SourceNode,
} from "./source-node.ts";

/** Of printable ASCII, what means nothing but itself within an unquoted scalar. */
const inner = String.raw`[\w.+/@%=;()*!?&$~^-]`;
/** No more parts than a text of ours has: to repeat a group without end takes stack for each time. */
const unquoted = new RegExp(String.raw`(?:[\w./+~]|-(?=[\w.]))${inner}*(?:(?::| +)${inner}+){0,100}`, "y");
const doubleQuoted = /"[ !#-[\]-~]*"/y;
const singleQuoted = /'[ -&(-~]*'/y;
const dash = /- +(?=[^ \r\n#])/y;
const spaces = / +(?=[^ \r\n#])/y;
const colon = /:/y;
const endOfLine = / *(?: #[^\r\n]*)?(?:\r?\n|$)/y;
const indentation = / */y;

/** A line with nothing or only a comment. */
export const emptyLine = / *(?:#[^\r\n]*)?(?:\r?\n|$)/y;

/** What is otherwise at the beginning of a line may still be empty to the library, as a tab is. */
const beginsText = /[!"$-~]/;

/** How the YAML library itself tells numbers, booleans and nothing from text (YAML 1.2, core schema). */
const types = new Schema({ schema: "core" }).tags.filter(
  (tag): tag is ScalarTag & { test: RegExp } => tag.default === true && "test" in tag && tag.test !== undefined,
);
const maybeTyped = /^(?:[-+.\d~]|null$|true$|false$)/i;

/** Keys may not be longer than 1,024 characters in YAML. Names of ours are nowhere near. */
const longestKey = 100;

/** Nothing of ours is as deep. */
const maximumDepth = 20;

const lineFeed = 10;
const carriageReturn = 13;
const space = 32;

export interface LineStart {
  readonly at: number;
  /** From 1. */
  readonly line: number;
}

/** Where a line has its first text. */
export interface TextPosition extends LineStart {
  /** From 0. */
  readonly column: number;
}

/**
 * Reads the plain part of YAML: block and flow lists and maps of scalars that stand on one line each, without escapes,
 * anchors, aliases, tags, tabs or anything beyond ASCII. Whatever else it meets, wrong or only less usual, it does not
 * judge: that is for the YAML library. Of what it does read it says the same as the library does.
 */
export class PlainReader {
  readonly #text: string;
  #at: number;
  #line: number;
  /** Of the first text of the line that is reached at the end of a block node; -1 at the end of all text. */
  #indent = 0;
  #end: LineStart;
  #depth = 0;

  constructor(text: string, { at, line, column }: TextPosition) {
    this.#text = text;
    this.#at = at;
    this.#line = line;
    this.#indent = column;
    this.#end = { at: at - column, line };
  }

  /** The beginning of the line that is reached: empty lines and comments are passed over. */
  get lineStart(): number {
    return this.#at - Math.max(0, this.#indent);
  }

  /** The line after the last one that was read, and where it begins. */
  get end(): LineStart {
    return this.#end;
  }

  /** The next item of a list whose dashes stand at `column`; undefined when there is none, or not a plain one. */
  item(column: number): SourceNode | undefined {
    if (this.#indent !== column) return undefined;
    this.#depth = 0;
    const node = this.#item(column);
    return node && this.#indent <= column ? node : undefined;
  }

  #item(column: number): SourceNode | undefined {
    const before = this.#at;
    return this.#skip(dash) ? this.#block(column + this.#at - before, column) : undefined;
  }

  /** What begins here, at `column`, within a list or map at the column `parent`. */
  #block(column: number, parent: number): SourceNode | undefined {
    if (this.#opensFlow()) return this.#flowLine(parent);
    const scalar = this.#scalar();
    if (!scalar) return undefined;
    if (this.#is(":")) return this.#within(() => this.#map(scalar, column));
    return this.#endLine() ? scalar : undefined;
  }

  /** Maps and lists within each other, so that no text uses up the stack. */
  #within<T>(read: () => T): T | undefined {
    if (this.#depth === maximumDepth) return undefined;
    this.#depth++;
    const result = read();
    this.#depth--;
    return result;
  }

  /** A map at `column`, from the colon after its first key. */
  #map(first: ScalarNode, column: number): MapNode | undefined {
    const entries = new Map<string, MapEntry>();
    for (let key: ScalarNode | undefined = first; key; key = this.#scalar()) {
      if (!this.#skip(colon) || !isKey(key, entries)) return undefined;
      const value = this.#skip(spaces) ? this.#inline(column) : this.#below(column);
      if (!value) return undefined;
      entries.set(key.text, { line: key.line, value });
      if (this.#indent < column) return { kind: "map", line: first.line, entries };
      if (this.#indent > column) return undefined;
    }
    return undefined;
  }

  /** The value on the line of its key. */
  #inline(column: number): SourceNode | undefined {
    if (this.#opensFlow()) return this.#flowLine(column);
    const scalar = this.#scalar();
    return scalar && this.#endLine() ? scalar : undefined;
  }

  /** The value below the line of its key, which stands at `column`. A list may stand there, anything else is deeper. */
  #below(column: number): SourceNode | undefined {
    if (!this.#endLine() || this.#indent < column) return undefined;
    if (this.#is("-")) return this.#within(() => this.#list(this.#indent));
    return this.#indent > column ? this.#block(this.#indent, column) : undefined;
  }

  #list(column: number): ListNode | undefined {
    const line = this.#line;
    const items: SourceNode[] = [];
    do {
      const item = this.#item(column);
      if (!item) return undefined;
      items.push(item);
    } while (this.#indent === column && this.#is("-"));
    return this.#indent > column ? undefined : { kind: "list", line, length: items.length, items };
  }

  #opensFlow(): boolean {
    return this.#is("{") || this.#is("[");
  }

  /** A flow list or map and the end of its line. Lines that it goes over are deeper than `parent`. */
  #flowLine(parent: number): SourceNode | undefined {
    const node = this.#flow(parent);
    return node && this.#endLine() ? node : undefined;
  }

  #flow(parent: number): SourceNode | undefined {
    if (this.#is("{")) return this.#within(() => this.#flowMap(parent));
    if (this.#is("[")) return this.#within(() => this.#flowList(parent));
    const scalar = this.#scalar();
    return scalar && !this.#is(":") ? scalar : undefined;
  }

  #flowMap(parent: number): MapNode | undefined {
    const line = this.#line;
    const entries = new Map<string, MapEntry>();
    const whole = this.#flowItems(parent, "}", () => {
      const quoted = this.#is('"') || this.#is("'");
      const key = this.#scalar();
      if (!key || !this.#skip(colon) || !isKey(key, entries)) return false;
      // Only after a quoted key may the value follow the colon at once, as in JSON.
      if (!this.#skip(spaces) && !quoted) return false;
      const value = this.#flow(parent);
      if (value) entries.set(key.text, { line: key.line, value });
      return value !== undefined;
    });
    return whole ? { kind: "map", line, entries } : undefined;
  }

  #flowList(parent: number): ListNode | undefined {
    const line = this.#line;
    const items: SourceNode[] = [];
    const whole = this.#flowItems(parent, "]", () => {
      const item = this.#flow(parent);
      if (item) items.push(item);
      return item !== undefined;
    });
    return whole ? { kind: "list", line, length: items.length, items } : undefined;
  }

  /** From an opening bracket past the closing one, with what is read between the commas. */
  #flowItems(parent: number, close: string, read: () => boolean): boolean {
    this.#at++;
    if (!this.#gap(parent)) return false;
    if (this.#is(close)) {
      this.#at++;
      return true;
    }
    for (;;) {
      if (!read() || !this.#gap(parent)) return false;
      const closed = this.#is(close);
      if (!closed && !this.#is(",")) return false;
      this.#at++;
      if (closed) return true;
      if (!this.#gap(parent)) return false;
    }
  }

  /** Spaces and line ends in a flow list or map. */
  #gap(parent: number): boolean {
    for (let lineStart = -1; ; this.#at++) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === lineFeed) {
        this.#line++;
        lineStart = this.#at + 1;
      } else if (code === carriageReturn) {
        if (this.#text.charCodeAt(this.#at + 1) !== lineFeed) return false;
      } else if (code !== space) return lineStart < 0 || this.#at - lineStart > parent;
    }
  }

  #scalar(): ScalarNode | undefined {
    const from = this.#at;
    const line = this.#line;
    if (this.#skip(doubleQuoted) || this.#skip(singleQuoted)) {
      const text = this.#text.slice(from + 1, this.#at - 1);
      return { kind: "scalar", line, value: text, text };
    }
    return this.#skip(unquoted) ? typed(this.#text.slice(from, this.#at), line) : undefined;
  }

  /** To the next line that has more than a comment. False where this line does not end here, or the next is none for sure. */
  #endLine(): boolean {
    if (!this.#skip(endOfLine)) return false;
    this.#line++;
    this.#end = { at: this.#at, line: this.#line };
    while (this.#at < this.#text.length && this.#skip(emptyLine)) this.#line++;
    const lineStart = this.#at;
    this.#skip(indentation);
    const ended = this.#at === this.#text.length;
    this.#indent = ended ? -1 : this.#at - lineStart;
    return ended || beginsText.test(this.#text[this.#at] ?? "");
  }

  #is(character: string): boolean {
    return this.#text[this.#at] === character;
  }

  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }
}

/** Keys that are twice there, merged or of a kind that needs words are the library's. */
const isKey = ({ text, value }: ScalarNode, entries: ReadonlyMap<string, MapEntry>): boolean =>
  value !== null && text !== "<<" && text.length <= longestKey && !entries.has(text);

function typed(text: string, line: number): ScalarNode {
  if (!maybeTyped.test(text)) return { kind: "scalar", line, value: text, text };
  const tag = types.find(({ test }) => test.test(text));
  const resolved = tag ? tag.resolve(text, () => {}, {}) : text;
  const value = isScalar(resolved) ? resolved.value : resolved;
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    return { kind: "scalar", line, value, text };
  }
  return nothing(line);
}
