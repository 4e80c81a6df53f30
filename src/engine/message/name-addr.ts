import { DISPLAY, isToken, skipClass, skipSpace, trimmedEnd, URI } from "./chars.ts";
import { paramIn, quotedEnd, readParams } from "./params.ts";
import { schemeEnd } from "./uri.ts";

const QUOTE = 34;
const OPEN_ANGLE = 60;

/** A `From`, `To`, `Contact`, `Route`, … value (RFC 3261 section 20.10: name-addr or addr-spec, then parameters). */
export class NameAddr {
  constructor(
    /** As received, quotes included; "" when absent. */
    readonly display: string,
    /** Without angle brackets. */
    readonly uri: string,
    /** The header parameters with their leading semicolon, or "". */
    readonly params: string,
  ) {}

  /** "" for a parameter without value, undefined when it is not there. `name` in lower case. */
  param(name: string): string | undefined {
    return this.params === "" ? undefined : paramIn(this.params, name);
  }

  /** The `tag` parameter, "" when absent. */
  get tag(): string {
    return this.param("tag") ?? "";
  }
}

/** Parses one value (split lists first); undefined when it is malformed. */
export function parseNameAddr(value: string): NameAddr | undefined {
  const start = skipSpace(value, 0);
  const uriStart = addressStart(value, start);
  if (uriStart < 0) return undefined;
  const uriEnd = addressEnd(value, uriStart);
  const bracketed = uriStart > start;
  const params = bracketed ? uriEnd + 1 : uriEnd;
  if (!isAddress(value, uriStart, uriEnd) || !readParams(value, params)) return undefined;
  const display = bracketed ? value.slice(start, trimmedEnd(value, start, uriStart - 1)) : "";
  return new NameAddr(display, value.slice(uriStart, uriEnd), value.slice(skipSpace(value, params)));
}

/** The value with its URI in angle brackets, which RFC 3261 section 20.10 lets be left out; a malformed one as it is. */
export function bracketed(value: string): string {
  if (value.includes("<")) return value;
  const address = parseNameAddr(value);
  return address ? `<${address.uri}>${address.params}` : value;
}

/** Whether `parseNameAddr` would accept the value, without cutting it up; `visit` is shown each header parameter. */
export function checkNameAddr(value: string, visit?: (name: string, value: string) => void): boolean {
  const start = skipSpace(value, 0);
  const uriStart = addressStart(value, start);
  if (uriStart < 0) return false;
  const uriEnd = addressEnd(value, uriStart);
  return isAddress(value, uriStart, uriEnd) && readParams(value, uriStart > start ? uriEnd + 1 : uriEnd, visit);
}

/** The tag of a From or To value: "" when it has none, undefined when the value or the tag is malformed. */
export function addressTag(value: string): string | undefined {
  let tag: string | undefined;
  const good = checkNameAddr(value, (name, text) => {
    if (name === "tag") tag ??= text;
  });
  if (!good) return undefined;
  return tag === undefined ? "" : isToken(tag) ? tag : undefined;
}

/** Where the URI starts: behind the `<` when there is one, else at `start`; -1 when what stands before it is malformed. */
function addressStart(value: string, start: number): number {
  const length = value.length;
  if (start >= length) return -1;
  if (value.charCodeAt(start) === QUOTE) {
    const end = quotedEnd(value, start);
    if (end < 0) return -1;
    const open = skipSpace(value, end);
    return open < length && value.charCodeAt(open) === OPEN_ANGLE ? open + 1 : -1;
  }
  const open = value.indexOf("<", start);
  if (open < 0) return start;
  return skipClass(value, start, open, DISPLAY) === open ? open + 1 : -1;
}

/**
 * Where the URI that starts at `at` ends: at the first character no URI may hold, so at the `>` of a good one. Without
 * brackets a semicolon ends it too: parameters then belong to the header (RFC 3261 section 20.10).
 */
function addressEnd(value: string, at: number): number {
  const end = skipClass(value, at, value.length, URI);
  if (at > 0 && value.charCodeAt(at - 1) === OPEN_ANGLE) return end;
  const semicolon = value.indexOf(";", at);
  return semicolon < 0 || semicolon > end ? end : semicolon;
}

/**
 * Whether [start, end) is an absolute URI of any scheme (what one other than SIP means is for the application to say),
 * closed by its `>`. Without brackets a comma or question mark is not allowed (RFC 3261 section 20.10).
 */
function isAddress(value: string, start: number, end: number): boolean {
  if (schemeEnd(value, start) >= end - 1) return false;
  if (start > 0 && value.charCodeAt(start - 1) === OPEN_ANGLE)
    return end < value.length && value.charCodeAt(end) === 62;
  for (let at = start; at < end; at++) {
    const c = value.charCodeAt(at);
    if (c === 44 || c === 63) return false;
  }
  return true;
}
