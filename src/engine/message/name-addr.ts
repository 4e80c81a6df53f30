import { paramIn, paramsWellFormed, quotedEnd, skipSpace, trimmedEnd } from "./params.ts";
import { isVisible, uriScheme } from "./uri.ts";

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
  const open = openingBracket(value);
  if (open === MALFORMED) return undefined;
  if (open === NO_BRACKET) return parseAddrSpec(value);
  const close = value.indexOf(">", open);
  if (close < 0) return undefined;
  const uri = value.slice(open + 1, close);
  if (!isAbsoluteUri(uri) || !paramsWellFormed(value, close + 1)) return undefined;
  const start = skipSpace(value, 0);
  const display = value.slice(start, trimmedEnd(value, start, open));
  return new NameAddr(display, uri, value.slice(skipSpace(value, close + 1)));
}

const NO_BRACKET = -1;
const MALFORMED = -2;

/**
 * Where the `<` of a name-addr is. Before it may stand one quoted string or unquoted words. Against the grammar, words
 * may hold more than token characters (UTF-8 names, parentheses: common), but not what would split or end the value.
 */
function openingBracket(value: string): number {
  let at = skipSpace(value, 0);
  if (value.charCodeAt(at) === 34) {
    const end = quotedEnd(value, at);
    if (end < 0) return MALFORMED;
    at = skipSpace(value, end);
    return value.charCodeAt(at) === 60 ? at : MALFORMED;
  }
  const open = value.indexOf("<", at);
  if (open < 0) return NO_BRACKET;
  for (; at < open; at++) {
    const c = value.charCodeAt(at);
    if (c === 44 || c === 59 || c === 34 || c === 62) return MALFORMED;
  }
  return open;
}

/**
 * A URI without brackets: everything from a semicolon on belongs to the header (RFC 3261 section 20.10), and a URI with a
 * comma or a question mark must stand in brackets.
 */
function parseAddrSpec(value: string): NameAddr | undefined {
  const semicolon = value.indexOf(";");
  const end = semicolon < 0 ? value.length : semicolon;
  const start = skipSpace(value, 0);
  const uri = value.slice(start, trimmedEnd(value, start, end));
  if (!isAbsoluteUri(uri) || uri.includes("?") || uri.includes(",")) return undefined;
  return paramsWellFormed(value, end) ? new NameAddr("", uri, value.slice(end)) : undefined;
}

/** Any scheme: what a URI other than SIP means is for the application to say. */
function isAbsoluteUri(uri: string): boolean {
  return isVisible(uri) && uriScheme(uri) !== "";
}
