import { SPACE, skipClass, TOKEN } from "../message/chars.ts";
import { MAX_MESSAGE } from "../message/sip-message.ts";
import { parseNatural } from "../message/uri.ts";

/** What the framer found next in a stream. */
export type Frame =
  | { readonly kind: "message"; readonly text: string }
  /** CRLFCRLF between messages: to be answered by CRLF (RFC 5626 section 4.4.1). */
  | { readonly kind: "ping" }
  /** The stream cannot be cut into messages any further; `text` is the head that could be read, or "". */
  | { readonly kind: "broken"; readonly reason: string; readonly text: string };

/** Cuts a stream into messages by Content-Length (RFC 3261 section 18.3). After "broken" it must be given nothing more. */
export class StreamFramer {
  #buffer = "";
  /** Up to where the end of the head was looked for. */
  #searched = 0;
  /** Length of the message at the start of the buffer once its head is there, else 0. */
  #length = 0;

  /** Whether a message has begun and is not complete. */
  get partial(): boolean {
    return this.#buffer !== "" && this.#buffer !== "\r" && this.#buffer !== "\r\n" && this.#buffer !== "\r\n\r";
  }

  push(text: string): void {
    this.#buffer += text;
  }

  /** The next frame, or undefined until more is pushed. */
  next(): Frame | undefined {
    if (this.#length === 0) {
      const gap = this.#skipGap();
      if (gap !== undefined) return gap;
      const broken = this.#readHead();
      if (broken !== undefined) return broken;
    }
    if (this.#length === 0 || this.#buffer.length < this.#length) return undefined;
    const text = this.#buffer.slice(0, this.#length);
    this.#drop(this.#length);
    return { kind: "message", text };
  }

  #skipGap(): Frame | undefined {
    if (this.#buffer.startsWith("\r\n\r\n")) {
      this.#drop(4);
      return { kind: "ping" };
    }
    // One CRLF is a pong or padding. It stays until it is sure that no second one follows.
    while (this.#buffer.startsWith("\r\n") && this.#buffer.length > 2 && this.#buffer !== "\r\n\r") {
      if (this.#buffer.startsWith("\r\n\r\n")) return this.#skipGap();
      this.#drop(2);
    }
    return undefined;
  }

  #readHead(): Frame | undefined {
    if (!this.partial) return undefined;
    const end = this.#buffer.indexOf("\r\n\r\n", Math.max(0, this.#searched - 3));
    if (end < 0) {
      this.#searched = this.#buffer.length;
      if (this.#buffer.length > MAX_MESSAGE) return this.#broken("Message Too Large", "");
      return beginsLikeSip(this.#buffer) ? undefined : this.#broken("Not SIP", "");
    }
    const head = this.#buffer.slice(0, end + 4);
    if (!beginsLikeSip(head)) return this.#broken("Not SIP", "");
    const length = contentLength(head);
    if (length < 0) return this.#broken("Wrong Content-Length", head);
    if (head.length + length > MAX_MESSAGE) return this.#broken("Message Too Large", head);
    this.#length = head.length + length;
    return undefined;
  }

  #broken(reason: string, text: string): Frame {
    this.#drop(this.#buffer.length);
    return { kind: "broken", reason, text };
  }

  #drop(length: number): void {
    this.#buffer = this.#buffer.slice(length);
    this.#searched = 0;
    this.#length = 0;
  }
}

/** Whether a stream starts with a method and a space, or a SIP version, as far as it is there: garbage is shut out early. */
function beginsLikeSip(text: string): boolean {
  const end = skipClass(text, 0, text.length, TOKEN);
  if (end === text.length) return end <= MAX_METHOD;
  return end > 0 && end <= MAX_METHOD && (text[end] === " " || text.startsWith("SIP/"));
}

/** Longer than any method in use, short enough to see that a stream is none of ours. */
const MAX_METHOD = 64;

/** The stated length of the body: 0 when none is stated, -1 when it is no number or stated twice. */
function contentLength(head: string): number {
  let found = -1;
  for (let at = head.indexOf("\r\n") + 2; at < head.length - 2; at = head.indexOf("\r\n", at) + 2) {
    const nameEnd = skipClass(head, at, head.length, TOKEN);
    const name = head.slice(at, nameEnd).toLowerCase();
    if (name !== "content-length" && name !== "l") continue;
    const colon = skipClass(head, nameEnd, head.length, SPACE);
    if (found >= 0 || head[colon] !== ":") return -1;
    found = parseNatural(head.slice(colon + 1, valueLineEnd(head, colon)).trim(), Number.MAX_SAFE_INTEGER);
    if (found < 0) return -1;
  }
  return Math.max(found, 0);
}

/** Where the value that follows the colon ends: at the first CRLF no white space follows (a fold). */
function valueLineEnd(head: string, colon: number): number {
  let end = head.indexOf("\r\n", colon);
  while (head[end + 2] === " " || head[end + 2] === "\t") end = head.indexOf("\r\n", end + 2);
  return end;
}
