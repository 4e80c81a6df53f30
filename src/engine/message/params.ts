const QUOTE = 34;
const COMMA = 44;
const SEMICOLON = 59;
const OPEN_ANGLE = 60;
const CLOSE_ANGLE = 62;
const BACKSLASH = 92;

/**
 * The value of parameter `name` (lower case) in `;a=b;c` text: "" for a parameter without value, undefined when it is not
 * there. Minds quoted strings; white space around `;` and `=` is allowed (RFC 3261 section 7.3.1). `from` is where the
 * first semicolon may be.
 */
export function paramIn(text: string, name: string, from = 0): string | undefined {
  let at = text.indexOf(";", from);
  while (at >= 0) {
    const end = paramEnd(text, at + 1);
    let equals = text.indexOf("=", at + 1);
    if (equals < 0 || equals > end) equals = end;
    const start = skipSpace(text, at + 1);
    const nameEnd = trimmedEnd(text, start, equals);
    if (nameEnd - start === name.length && text.slice(start, nameEnd).toLowerCase() === name) {
      return equals === end ? "" : text.slice(skipSpace(text, equals + 1), trimmedEnd(text, equals + 1, end));
    }
    at = end < text.length ? end : -1;
  }
  return undefined;
}

/** Where the parameter that starts at `at` ends: the next semicolon outside quotes, or the end of the text. */
export function paramEnd(text: string, at: number): number {
  let quoted = false;
  for (; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === QUOTE) quoted = !quoted;
    else if (c === BACKSLASH && quoted) at++;
    else if (c === SEMICOLON && !quoted) return at;
  }
  return text.length;
}

/** The first position at or after `at` that holds no space, tab, CR or LF. */
export function skipSpace(text: string, at: number): number {
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

/** `end` moved back over white space, not before `start`. */
export function trimmedEnd(text: string, start: number, end: number): number {
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  return end;
}

/** Space, tab, and the CR and LF of a folded line. */
export function isSpace(charCode: number): boolean {
  return charCode === 32 || charCode === 9 || charCode === 13 || charCode === 10;
}

/** `;`-joined parameters with `name` set to `value`, in place when it is already there, else appended. */
export function withParam(text: string, name: string, value: string): string {
  let at = text.indexOf(";");
  while (at >= 0) {
    const end = paramEnd(text, at + 1);
    const equals = text.indexOf("=", at + 1);
    const nameEnd = equals < 0 || equals > end ? end : equals;
    if (
      text
        .slice(at + 1, nameEnd)
        .trim()
        .toLowerCase() === name
    ) {
      return `${text.slice(0, at)};${name}=${value}${text.slice(end)}`;
    }
    at = end < text.length ? end : -1;
  }
  return `${text};${name}=${value}`;
}

/**
 * Whether the text from `from` on is nothing, or `;name` and `;name=value` parameters: no empty name, no stray character
 * before a semicolon, every quoted string closed (RFC 3261 section 25.1 generic-param).
 */
export function paramsWellFormed(text: string, from: number): boolean {
  let at = skipSpace(text, from);
  while (at < text.length) {
    if (text.charCodeAt(at) !== SEMICOLON) return false;
    const start = skipSpace(text, at + 1);
    at = skipSpace(text, tokenEnd(text, start));
    if (at === start) return false;
    if (text.charCodeAt(at) !== 61) continue;
    at = skipSpace(text, at + 1);
    const valueEnd = text.charCodeAt(at) === QUOTE ? quotedEnd(text, at) : valueTokenEnd(text, at);
    if (valueEnd <= at) return false;
    at = skipSpace(text, valueEnd);
  }
  return true;
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

/** Token characters of RFC 3261 section 25.1, as a table over the 256 latin1 codes. */
const tokenChars = new Uint8Array(256);
for (const char of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.!%*_+`'~") {
  tokenChars[char.charCodeAt(0)] = 1;
}

/** The first position at or after `at` that holds no token character. */
export function tokenEnd(text: string, at: number): number {
  while (tokenChars[text.charCodeAt(at)] === 1) at++;
  return at;
}

/** Whether the whole of `text` is one token, and not empty. */
export function isToken(text: string): boolean {
  return text.length > 0 && tokenEnd(text, 0) === text.length;
}

/** An unquoted parameter value: a token or a host, so anything up to white space or a separator of parameters. */
function valueTokenEnd(text: string, at: number): number {
  for (; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === SEMICOLON || c === COMMA || c === QUOTE || isSpace(c)) break;
  }
  return at;
}

/** Splits a list header's value at the commas outside quotes and angle brackets; values trimmed, empty ones left out. */
export function splitValues(text: string): string[] {
  const values: string[] = [];
  let start = 0;
  while (start < text.length) {
    const end = valueEnd(text, start);
    const from = skipSpace(text, start);
    const to = trimmedEnd(text, from, end);
    if (to > from) values.push(text.slice(from, to));
    start = end + 1;
  }
  return values;
}

/** Where the value that starts at `at` ends: the next comma outside quotes and angle brackets, or the end of the text. */
export function valueEnd(text: string, at: number): number {
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
