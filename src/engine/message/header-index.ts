import { isOf, SPACE, skipClass, TOKEN, trimmedEnd } from "./chars.ts";
import { CONTENT_LENGTH, codeAt, hashStep, kindOf, UNKNOWN } from "./header-names.ts";

/** Header lines kept of one message; further ones make it malformed. */
export const MAX_HEADERS = 256;
/** Characters of one header line, folds included; a longer one makes the message malformed. */
export const MAX_HEADER_LINE = 8_192;

/** What one pass over the header lines found. Numbers are offsets into the text. */
export interface HeaderIndex {
  /** Five numbers a header, see `ENTRY`. */
  readonly entries: readonly number[];
  /** Where the body starts; the end of the text when the blank line is missing. */
  readonly bodyStart: number;
  /** The first thing wrong with the header lines, "" when nothing is. */
  readonly problem: string;
}

/** Numbers an entry takes: code, name start, name end, value start, value end (`~end` when the value is folded). */
export const ENTRY = 5;
export const NAME_START = 1;
export const NAME_END = 2;
export const VALUE_START = 3;
export const VALUE_END = 4;

const LF = 10;
const CR = 13;
const COLON = 58;

/** Bit of each code that may stand in one line only and on which the engine's own decisions rest. */
const singleBits = Array.from({ length: CONTENT_LENGTH + 1 }, (_, code) => (kindOf(code) === "single" ? 1 << code : 0));

/**
 * Indexes the header lines from `start` on in one pass. It goes on behind a broken line, so that a message can still be
 * answered (its Via, From, To, Call-ID and CSeq may come later).
 */
export function indexHeaders(text: string, start: number): HeaderIndex {
  const entries: number[] = [];
  let problem = "";
  let seen = 0;
  const length = text.length;
  let at = start;
  while (at < length) {
    const first = text.charCodeAt(at);
    if (first === CR && text.startsWith("\n", at + 1)) return { entries, bodyStart: at + 2, problem };
    if (first === LF) return { entries, bodyStart: at + 1, problem: problem || "Bare Carriage Return Or Line Feed" };

    let hash = 0;
    let nameEnd = at;
    for (; nameEnd < length; nameEnd++) {
      const c = text.charCodeAt(nameEnd);
      if (!isOf(c, TOKEN)) break;
      hash = hashStep(hash, c);
    }
    let colon = nameEnd;
    while (colon < length && isBlank(text.charCodeAt(colon))) colon++;

    let lf = text.indexOf("\n", nameEnd);
    let folded = false;
    while (lf >= 0 && lf + 1 < length && isBlank(text.charCodeAt(lf + 1))) {
      folded = true;
      lf = text.indexOf("\n", lf + 1);
    }
    // A line without an end may be cut anywhere: nothing in it can be believed.
    if (lf < 0) break;

    if (nameEnd === at || colon >= length || text.charCodeAt(colon) !== COLON) {
      problem ||= "Malformed Header Line";
    } else {
      const code = codeAt(text, at, nameEnd, hash);
      const valueStart = skipClass(text, colon + 1, lf, SPACE);
      const valueEnd = trimmedEnd(text, valueStart, lf);
      const clean = folded ? !hasBareBreak(text, colon, lf) : text.indexOf("\r", colon) === lf - 1;
      if (!clean) problem ||= "Bare Carriage Return Or Line Feed";
      if (lf - at > MAX_HEADER_LINE) problem ||= "Header Line Too Long";
      else if (entries.length >= MAX_HEADERS * ENTRY && (code === UNKNOWN || code > CONTENT_LENGTH)) {
        problem ||= "Too Many Headers";
      } else {
        if (code >= 0 && code <= CONTENT_LENGTH) {
          const bit = singleBits[code] ?? 0;
          if ((seen & bit) !== 0) problem ||= "Repeated Header";
          seen |= bit;
        }
        entries.push(code, at, nameEnd, valueStart, folded ? ~valueEnd : valueEnd);
      }
    }
    at = lf + 1;
  }
  return { entries, bodyStart: length, problem: problem || "Truncated Headers" };
}

function isBlank(charCode: number): boolean {
  return charCode === 32 || charCode === 9;
}

/** Whether a folded value breaks its lines with anything but CRLF, up to and with the LF at `lf`. */
function hasBareBreak(text: string, start: number, lf: number): boolean {
  for (let at = start; at <= lf; at++) {
    const c = text.charCodeAt(at);
    if (c === CR && text.charCodeAt(at + 1) !== LF) return true;
    if (c === LF && text.charCodeAt(at - 1) !== CR) return true;
  }
  return false;
}
