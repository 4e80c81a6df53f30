import parse from "drachtio-mw-registration-parser";
import { parseNameAddr } from "../engine/message/name-addr.ts";
import { splitValues } from "../engine/message/params.ts";
import { parseNatural, parseUri, type SipUri } from "../engine/message/uri.ts";
import type { Headers } from "./port.ts";

/** One Contact of a REGISTER or of the answer to one. */
export interface RegisteredContact {
  readonly uri: SipUri;
  /** As it stands there. */
  readonly address: string;
  /** Header parameters with their leading semicolon, "" for none. */
  readonly params: string;
  /** Seconds; undefined where neither the Contact nor the message says. */
  readonly expires: number | undefined;
}

/** What a REGISTER asks for (RFC 3261 section 10.2). */
export interface Registration {
  /** The address of record: the URI of To. */
  readonly aor: SipUri;
  /** Empty for a query, and where `all` are meant. */
  readonly contacts: readonly RegisteredContact[];
  /** `Contact: *`: every binding is to go. */
  readonly all: boolean;
}

/** RFC 3261 section 20.19: an Expires that is no number of seconds counts as an hour. */
const longest = 2 ** 32 - 1;
const whenMalformed = 3_600;

/** Undefined for a malformed one: no user in To, a broken Contact, `*` beside others or without `Expires: 0`. */
export function readRegistration(headers: Headers): Registration | undefined {
  const contacts = readContacts(headers);
  const all = headers.contact?.trim() === "*";
  if (all ? headers.expires?.trim() !== "0" : !contacts) return undefined;
  const [first] = contacts ?? [];
  const aor = first ? aorOf(headers, first) : parseNameAddr(headers.to ?? "")?.uri;
  const uri = aor === undefined ? undefined : parseUri(aor);
  return uri && uri.user !== "" ? { aor: uri, contacts: contacts ?? [], all } : undefined;
}

/** The Contacts of a REGISTER, or of the answer to one; undefined when one of them is broken. */
export function readContacts(headers: Headers): RegisteredContact[] | undefined {
  const common = headers.expires === undefined ? undefined : secondsOf(headers.expires);
  const contacts: RegisteredContact[] = [];
  for (const value of splitValues(headers.contact ?? "")) {
    const contact = parseNameAddr(value);
    const uri = contact && parseUri(contact.uri);
    if (!contact || !uri) return undefined;
    const own = contact.param("expires");
    const expires = own === undefined ? common : secondsOf(own);
    contacts.push({ uri, address: contact.uri, params: contact.params, expires });
  }
  return contacts;
}

const expiresParam = /;\s*expires\s*=\s*[^;\s]*/i;

/** Parameters of a Contact with this expiry in the place of any other. */
export const withExpires = (params: string, seconds: number): string =>
  `${params.replace(expiresParam, "")};expires=${seconds}`;

function secondsOf(text: string): number {
  const seconds = parseNatural(text.trim(), longest);
  return seconds < 0 ? whenMalformed : seconds;
}

/** As the middleware of drachtio applications reads it; undefined when it refuses the request. */
function aorOf(headers: Headers, first: RegisteredContact): string | undefined {
  const to = { uri: parseNameAddr(headers.to ?? "")?.uri ?? "" };
  const contact = [{ params: first.expires === undefined ? {} : { expires: String(first.expires) } }];
  const request: Parameters<typeof parse<(typeof contact)[0]>>[0] = {
    method: "REGISTER",
    has: (name) => name.toLowerCase() in headers,
    // It refuses a request that says nothing of its expiry, which is the registrar's to choose (RFC 3261 section 10.2.1.1).
    get: (name) => headers[name.toLowerCase()] ?? "",
    getParsedHeader: ((name) => (name === "To" ? to : contact)) as Parameters<typeof parse>[0]["getParsedHeader"],
  };
  parse(request, { send() {} }, () => {});
  return request.registration?.aor;
}
