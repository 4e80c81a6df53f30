/** Longest length prefix accepted from an application: five digits, as drachtio-server does. */
const maxPrefixDigits = 5;

export class FramingError extends Error {
  override readonly name = "FramingError";
}

/** Cuts a byte stream (as latin1 text) into payloads: `<decimal length>#<payload>`, back to back. */
export class FrameReader {
  #rest = "";

  /** Payloads completed by `chunk`. Throws FramingError on a stream that can never be read again. */
  read(chunk: string): string[] {
    const payloads: string[] = [];
    const text = this.#rest + chunk;
    let at = 0;
    for (;;) {
      const hash = text.indexOf("#", at);
      const prefix = text.slice(at, hash < 0 ? at + maxPrefixDigits + 1 : hash);
      if (prefix.length > maxPrefixDigits || !/^\d*$/.test(prefix) || (hash >= 0 && Number(prefix) === 0)) {
        throw new FramingError(`not a frame length: ${JSON.stringify(prefix)}`);
      }
      if (hash < 0) break;
      const end = hash + 1 + Number(prefix);
      if (end > text.length) break;
      payloads.push(text.slice(hash + 1, end));
      at = end;
    }
    this.#rest = text.slice(at);
    return payloads;
  }
}

/** One frame as bytes on a TCP link, still latin1 text. */
export function encodeFrame(payload: string): string {
  return `${payload.length}#${payload}`;
}

/** A frame taken apart: metadata tokens of its first line, and the SIP message after it ("" when none). */
export interface Frame {
  readonly id: string;
  readonly type: string;
  readonly tokens: readonly string[];
  readonly text: string;
}

export function parseFrame(payload: string): Frame {
  const end = payload.indexOf("\r\n");
  const tokens = (end < 0 ? payload : payload.slice(0, end)).split("|");
  return { id: tokens[0] ?? "", type: tokens[1] ?? "", tokens, text: end < 0 ? "" : payload.slice(end + 2) };
}

/**
 * Text an application wrote may hold characters beyond one byte (an emoji in a display name). They become their UTF-8 bytes;
 * characters up to U+00FF already stand for one byte each and stay.
 */
export function toByteText(text: string): string {
  return wide.test(text) ? text.replace(/[^\0-\xff]+/g, (run) => Buffer.from(run, "utf8").toString("latin1")) : text;
}
const wide = /[^\0-\xff]/;
