import { PARAM_VALUE, SPACE, skipClass, skipSpace, TOKEN, trimmedEnd } from "./chars.ts";

const QUOTE = 34;
const COMMA = 44;
const SEMICOLON = 59;
const OPEN_ANGLE = 60;
const EQUALS = 61;
const CLOSE_ANGLE = 62;
const BACKSLASH = 92;

/**
 * Walks the parameters in `text` from `from` on (nothing, or `;name` and `;name=value`) and hands each to `visit`, the name
 * in lower case, the value as received and "" when there is none. False when they are malformed: an empty name, a stray
 * character before a semicolon, an unclosed quoted string (RFC 3261 section 25.1 generic-param).
 */
export function readParams(text: string, from: number, visit?: (name: string, value: string) => void): boolean {
  const length = text.length;
  let at = skipSpace(text, from);
  while (at < length) {
    if (text.charCodeAt(at) !== SEMICOLON) return false;
    const start = skipSpace(text, at + 1);
    const nameEnd = skipClass(text, start, length, TOKEN);
    if (nameEnd === start) return false;
    at = skipSpace(text, nameEnd);
    let value = "";
    if (at < length && text.charCodeAt(at) === EQUALS) {
      const valueStart = skipSpace(text, at + 1);
      const end = paramValueEnd(text, valueStart);
      if (end <= valueStart) return false;
      if (visit !== undefined) value = text.slice(valueStart, end);
      at = skipSpace(text, end);
    }
    if (visit !== undefined) visit(lowerCase(text.slice(start, nameEnd)), value);
  }
  return true;
}

function paramValueEnd(text: string, at: number): number {
  if (at < text.length && text.charCodeAt(at) === QUOTE) return quotedEnd(text, at);
  return skipClass(text, at, text.length, PARAM_VALUE);
}

/** `toLowerCase` that leaves the common case, a text already in lower case, untouched. */
function lowerCase(name: string): string {
  for (let at = 0; at < name.length; at++) {
    const c = name.charCodeAt(at);
    if (c >= 65 && c <= 90) return name.toLowerCase();
  }
  return name;
}

/** The value of parameter `name` (lower case): "" when it has none, undefined when it is not there. */
export function paramIn(text: string, name: string): string | undefined {
  let found: string | undefined;
  readParams(text, text.charCodeAt(0) === SEMICOLON ? 0 : paramEnd(text, 0), (each, value) => {
    if (each === name) found ??= value;
  });
  return found;
}

/** Where the parameter (or what stands before the first one) that starts at `at` ends: at a semicolon outside quotes. */
function paramEnd(text: string, at: number): number {
  for (; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === SEMICOLON) return at;
    if (c === QUOTE) {
      const end = quotedEnd(text, at);
      if (end < 0) return text.length;
      at = end - 1;
    }
  }
  return text.length;
}

/** `text` with parameter `name` (lower case) set to `value`, in place when it is already there, else appended. */
export function withParam(text: string, name: string, value: string): string {
  let at = paramEnd(text, 0);
  while (at < text.length) {
    const end = paramEnd(text, at + 1);
    const start = skipSpace(text, at + 1);
    const nameEnd = skipClass(text, start, end, TOKEN);
    if (lowerCase(text.slice(start, nameEnd)) === name)
      return `${text.slice(0, at)};${name}=${value}${text.slice(end)}`;
    at = end;
  }
  return `${text};${name}=${value}`;
}

/** Where the quoted string that opens at `at` ends (behind its closing quote), or -1 when it never closes. */
export function quotedEnd(text: string, at: number): number {
  for (at++; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === QUOTE) return at + 1;
    if (c === BACKSLASH) at++;
  }
  return -1;
}

/** Splits a list header's value at the commas outside quotes and angle brackets; values trimmed, empty ones left out. */
export function splitValues(text: string): string[] {
  const values: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = valueEnd(text, start);
    const from = skipClass(text, start, end, SPACE);
    const to = trimmedEnd(text, from, end);
    if (to > from) values.push(text.slice(from, to));
    start = end + 1;
  }
  return values;
}

/** Where the value that starts at `at` ends: the next comma outside quotes and angle brackets, or the end of the text. */
export function valueEnd(text: string, at: number): number {
  if (text.indexOf(",", at) < 0) return text.length;
  let angle = false;
  for (; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === COMMA && !angle) return at;
    if (c === OPEN_ANGLE) angle = true;
    else if (c === CLOSE_ANGLE) angle = false;
    else if (c === QUOTE && !angle) {
      const end = quotedEnd(text, at);
      if (end < 0) return text.length;
      at = end - 1;
    }
  }
  return text.length;
}
