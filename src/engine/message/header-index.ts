import { SPACE, skipClass, TOKEN, trimmedEnd } from "./chars.ts";
import { CONTENT_LENGTH, codeAt, kindOf, UNKNOWN } from "./header-names.ts";

/** Header lines kept of one message; further ones make it malformed. */
const MAX_HEADERS = 256;
/** Characters of one header line, folds included; a longer one makes the message malformed. */
const MAX_HEADER_LINE = 8_192;

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
  let colon = start - 1;
  let cr = start - 1;
  while (at < length) {
    const first = text.charCodeAt(at);
    if (first === CR && text.startsWith("\n", at + 1)) return { entries, bodyStart: at + 2, problem };
    if (first === LF) {
      return { entries, bodyStart: at + 1, problem: problem || "Bare Carriage Return Or Line Feed" };
    }

    let lf = text.indexOf("\n", at);
    let folded = false;
    while (lf >= 0 && lf + 1 < length && isBlank(text.charCodeAt(lf + 1))) {
      folded = true;
      lf = text.indexOf("\n", lf + 1);
    }
    // A line without an end may be cut anywhere: nothing in it can be believed.
    if (lf < 0) break;

    // Neither is looked for again before the scan has passed it: lines without any must not cost a search of the whole text each.
    if (colon < at) colon = indexOrEnd(text, ":", at);
    if (cr < colon && colon < lf) cr = indexOrEnd(text, "\r", colon);
    const nameEnd = colon < lf ? blanksBefore(text, at, colon) : at;
    const code = nameEnd > at ? codeAt(text, at, nameEnd) : UNKNOWN;
    if (nameEnd === at || (code === UNKNOWN && skipClass(text, at, nameEnd, TOKEN) < nameEnd)) {
      problem ||= "Malformed Header Line";
    } else {
      const valueStart = skipClass(text, colon + 1, lf, SPACE);
      const valueEnd = trimmedEnd(text, valueStart, lf);
      const clean = folded ? !hasBareBreak(text, colon, lf) : cr === lf - 1;
      if (!clean) problem ||= "Bare Carriage Return Or Line Feed";
      // A value with a line break of some sort inside may not even reach an answer.
      const usable = clean || (!folded && cr >= valueEnd);
      if (lf - at > MAX_HEADER_LINE) problem ||= "Header Line Too Long";
      else if (entries.length >= MAX_HEADERS * ENTRY && (code === UNKNOWN || code > CONTENT_LENGTH)) {
        problem ||= "Too Many Headers";
      } else if (usable) {
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

/** Where `char` is next, or the end of the text. */
function indexOrEnd(text: string, char: string, from: number): number {
  const at = text.indexOf(char, from);
  return at < 0 ? text.length : at;
}

/** `end` moved back over spaces and tabs, not before `start`. */
function blanksBefore(text: string, start: number, end: number): number {
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return end;
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
