/** What a policy's from-address or to-address may be: anything, a digit prefix, or a host or domain. */
export type AddressPattern =
  | { readonly kind: "any" }
  | { readonly kind: "number"; readonly prefix: string }
  | { readonly kind: "host"; readonly host: string };

/** Characters that people write in numbers and that mean nothing (SEMANTICS.md section 6; RFC 3966 visual-separator). */
const visualSeparators = /[-.() ]/g;
const number = /^\+?[0-9*#]+$/;
const ipv4 = /^\d{1,3}(\.\d{1,3}){3}$/;

/** The number without visual separators, or "" when the user part is not a number. User parameters (`;…`) do not count. */
export function numberOf(user: string): string {
  if (plainDigits(user)) return user;
  const end = user.indexOf(";");
  const bare = unescaped(end < 0 ? user : user.slice(0, end)).replace(visualSeparators, "");
  return number.test(bare) ? bare : "";
}

/** `%2B44` is `+44` (RFC 3261 section 19.1.2); text that is no escape stays. */
const unescaped = (text: string): string =>
  text.includes("%")
    ? text.replace(/%[0-9a-f]{2}/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
    : text;

/** The common case, decided without a regular expression: only digits, perhaps after a `+`. */
function plainDigits(user: string): boolean {
  const start = user.charCodeAt(0) === 0x2b ? 1 : 0;
  if (user.length === start) return false;
  for (let i = start; i < user.length; i++) {
    const code = user.charCodeAt(i);
    if (code < 0x30 || code > 0x39) return false;
  }
  return true;
}

/** A carrier's code as policies and requests are compared: in lower case, without visual separators. */
export const normalCarrier = (carrier: string): string => carrier.toLowerCase().replace(visualSeparators, "");

/** Reads one from-address or to-address of a policy; undefined when it can be none of the three kinds. */
export function parsePattern(text: string): AddressPattern | undefined {
  const trimmed = text.trim();
  if (trimmed === "*") return { kind: "any" };
  if (!ipv4.test(trimmed)) {
    const prefix = numberOf(trimmed);
    if (prefix) return { kind: "number", prefix };
  }
  const isName = /^(\*\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*\.?$/i.test(trimmed);
  const isIpv6 = /^\[[0-9a-f:.]+\]$/i.test(trimmed) && URL.canParse(`http://${trimmed}`);
  return isName || isIpv6 ? { kind: "host", host: normalHost(trimmed.replace(/^\*\./, "")) } : undefined;
}

/** As hosts are compared: names in lower case without their last dot, IPv6 addresses in their shortest form without brackets. */
export function normalHost(host: string): string {
  if (!host.includes(":")) return host.toLowerCase().replace(/\.$/, "");
  const url = `http://[${host.replace(/^\[|\]$/g, "")}]`;
  return URL.canParse(url) ? new URL(url).hostname.slice(1, -1) : "";
}

const noLengths: readonly number[] = [];

function entry<T>(map: Map<string, T>, key: string, create: () => T): T {
  const known = map.get(key);
  if (known !== undefined) return known;
  const value = create();
  map.set(key, value);
  return value;
}

/**
 * Finds every value whose pattern matches an address. Prefixes and hosts are looked up by hash, one probe for each
 * length that is in use, so the cost does not grow with the number of patterns.
 */
export class AddressIndex<T> {
  #any: T | undefined;
  /** Only what is needed is made: there are as many indexes as to-addresses. */
  #prefixes: Map<string, T> | undefined;
  /** Lengths of prefix in use, longest first. */
  #lengths: readonly number[] = noLengths;
  #hosts: Map<string, T> | undefined;

  /** The value under this pattern, made by `create` the first time. */
  at(pattern: AddressPattern, create: () => T): T {
    if (pattern.kind === "any") {
      this.#any ??= create();
      return this.#any;
    }
    if (pattern.kind === "host") {
      this.#hosts ??= new Map();
      return entry(this.#hosts, pattern.host, create);
    }
    const { length } = pattern.prefix;
    if (!this.#lengths.includes(length)) this.#lengths = [...this.#lengths, length].sort((a, b) => b - a);
    this.#prefixes ??= new Map();
    return entry(this.#prefixes, pattern.prefix, create);
  }

  /** Calls `found` for every match, with the length of what matched: the longer, the more specific; 0 for `*`. */
  match(address: string, host: string, found: (value: T, length: number) => void): void {
    if (address && this.#prefixes) {
      for (const length of this.#lengths) {
        if (length > address.length) continue;
        const value = this.#prefixes.get(length === address.length ? address : address.slice(0, length));
        if (value !== undefined) found(value, length);
      }
    }
    if (host && this.#hosts) {
      for (let rest = normalHost(host); rest; rest = rest.includes(".") ? rest.slice(rest.indexOf(".") + 1) : "") {
        const value = this.#hosts.get(rest);
        if (value !== undefined) found(value, rest.length);
      }
    }
    if (this.#any !== undefined) found(this.#any, 0);
  }
}
