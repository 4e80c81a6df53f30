import { HOST, skipClass, URI } from "./chars.ts";
import { paramIn } from "./params.ts";

/** A host as it stands in a SIP element (IPv6 keeps its brackets off) and a port, 0 when absent. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

const COLON = 58;
const OPEN_BRACKET = 91;

/** A digit string as a number, or -1: nothing but ASCII digits, at most `maximum`. */
export function parseNatural(text: string, maximum: number): number {
  if (text.length === 0) return -1;
  let value = 0;
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
    if (value > maximum) return -1;
  }
  return value;
}

/** Parses `host`, `host:port`, `[v6]` or `[v6]:port` (RFC 3261 section 25.1 hostport); undefined when it is none. */
export function parseHostPort(text: string): HostPort | undefined {
  let end: number;
  let host: string;
  if (text.charCodeAt(0) === OPEN_BRACKET) {
    end = text.indexOf("]") + 1;
    host = text.slice(1, end - 1);
    if (end === 0 || !isIpv6(host)) return undefined;
  } else {
    end = text.indexOf(":");
    if (end < 0) end = text.length;
    host = text.slice(0, end);
    if (!isHostname(host)) return undefined;
  }
  if (end === text.length) return { host, port: 0 };
  if (text.charCodeAt(end) !== COLON) return undefined;
  const port = parseNatural(text.slice(end + 1), 65_535);
  return port > 0 ? { host, port } : undefined;
}

function isHostname(host: string): boolean {
  return host.length > 0 && skipClass(host, 0, host.length, HOST) === host.length;
}

/** Hex digits, colons, dots (an embedded IPv4 address); the system decides the rest when it is used. */
function isIpv6(host: string): boolean {
  for (let at = 0; at < host.length; at++) {
    const c = host.charCodeAt(at) | 0x20;
    const fine = (c >= 97 && c <= 102) || (c >= 48 && c <= 57) || c === 58 || c === 46;
    if (!fine) return false;
  }
  return host.length > 1;
}

/** `[::1]` for an IPv6 address, anything else as it is: the form a host takes in a URI or a Via. */
export function bracketed(host: string): string {
  return host.includes(":") && host.charCodeAt(0) !== OPEN_BRACKET ? `[${host}]` : host;
}

/** `host:port` in the form of a URI, without the port when it is 0. */
export function hostPort(host: string, port: number): string {
  return port === 0 ? bracketed(host) : `${bracketed(host)}:${port}`;
}

/** Whether a URI asks for TLS by its scheme. */
export const isSips = (uri: string): boolean => /^sips:/i.test(uri);

/** A parsed `sip:` or `sips:` URI. Parts keep the escapes they came with (RFC 3261 section 19.1.2). */
export class SipUri implements HostPort {
  constructor(
    readonly scheme: "sip" | "sips",
    readonly user: string,
    readonly password: string,
    /** Without brackets, as received otherwise. */
    readonly host: string,
    /** 0 when absent. */
    readonly port: number,
    /** `;transport=tcp;lr`, or "". */
    readonly params: string,
    /** What follows the question mark, or "". */
    readonly headers: string,
  ) {}

  /** The value of a URI parameter; "" when it has none, undefined when it is not there. `name` in lower case. */
  param(name: string): string | undefined {
    return this.params === "" ? undefined : paramIn(this.params, name);
  }

  get secure(): boolean {
    return this.scheme === "sips";
  }

  toString(): string {
    const password = this.password === "" ? "" : `:${this.password}`;
    const userInfo = this.user === "" ? "" : `${this.user}${password}@`;
    const headers = this.headers === "" ? "" : `?${this.headers}`;
    return `${this.scheme}:${userInfo}${hostPort(this.host, this.port)}${this.params}${headers}`;
  }
}

/** Where the colon behind the scheme that starts at `at` is; the length of the text when there is no scheme (RFC 3986 3.1). */
export function schemeEnd(uri: string, at: number): number {
  const start = at;
  for (; at < uri.length; at++) {
    const c = uri.charCodeAt(at);
    if (c === COLON) return at > start ? at : uri.length;
    const letter = (c | 0x20) >= 97 && (c | 0x20) <= 122;
    const other = at > start && ((c >= 48 && c <= 57) || c === 43 || c === 45 || c === 46);
    if (!letter && !other) break;
  }
  return uri.length;
}

/** The scheme of a URI in lower case, "" when there is none. */
export function uriScheme(uri: string): string {
  if (uri.startsWith("sip:")) return "sip";
  const end = schemeEnd(uri, 0);
  return end === uri.length ? "" : uri.slice(0, end).toLowerCase();
}

/** Parses a SIP or SIPS URI (RFC 3261 section 19.1); undefined for another scheme or a broken one. */
export function parseUri(text: string): SipUri | undefined {
  const scheme = uriScheme(text);
  if (scheme !== "sip" && scheme !== "sips") return undefined;
  if (!isVisible(text)) return undefined;
  let at = scheme.length + 1;
  // The user part may hold ; and ? but never an unescaped @, so the first @ ends it.
  const atSign = text.indexOf("@", at);
  let user = "";
  let password = "";
  if (atSign >= 0) {
    const colon = text.indexOf(":", at);
    const hasPassword = colon >= 0 && colon < atSign;
    user = text.slice(at, hasPassword ? colon : atSign);
    if (hasPassword) password = text.slice(colon + 1, atSign);
    if (user === "" || text.indexOf("@", atSign + 1) >= 0) return undefined;
    at = atSign + 1;
  }
  const question = text.indexOf("?", at);
  const end = question < 0 ? text.length : question;
  const semicolon = text.indexOf(";", at);
  const hostEnd = semicolon < 0 || semicolon > end ? end : semicolon;
  const address = parseHostPort(text.slice(at, hostEnd));
  if (address === undefined) return undefined;
  const headers = question < 0 ? "" : text.slice(question + 1);
  return new SipUri(scheme, user, password, address.host, address.port, text.slice(hostEnd, end), headers);
}

/** Whether `text` holds only what may stand in a URI, and something. */
export function isVisible(text: string): boolean {
  return text.length > 0 && skipClass(text, 0, text.length, URI) === text.length;
}
