import { isSips, parseNameAddr, parseUri } from "../signalling/addresses.ts";
import {
  dialogIdOf,
  type Headers,
  type IncomingRequest,
  type IncomingResponse,
  type Message,
  type Reply,
} from "../signalling/port.ts";
import type { Destination, NextHop } from "./next-hop.ts";
import { hiddenContacts, namesContacts } from "./redirects.ts";

/**
 * What belongs to one leg and never shows on the other (DESIGN.md section 4): routing, dialog and transaction fields,
 * hop-by-hop agreements, and the numbering of reliable provisionals, which each leg has of its own.
 */
const ofOneLeg = new Set([
  "via",
  "from",
  "to",
  "call-id",
  "cseq",
  "contact",
  "max-forwards",
  "max-breadth",
  "route",
  "record-route",
  "path",
  "service-route",
  "content-length",
  "timestamp",
  "rseq",
  "rack",
  "security-client",
  "security-server",
  "security-verify",
]);

/** A copy of the fields that pass from leg to leg. */
export function endToEnd(headers: Headers): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && !ofOneLeg.has(name)) passed[name] = value;
  }
  return passed;
}

/** Hops the request may still make when passed on: one fewer than it came with, 69 when it does not say, -1 when none. */
export function hopsLeft(headers: Headers): number {
  const value = headers["max-forwards"];
  const hops = value === undefined ? 70 : Number.parseInt(value, 10);
  return Number.isNaN(hops) ? 69 : hops - 1;
}

/** Whether a request is sent again with credentials for a 401 or 407. */
export const answersChallenge = (headers: Headers): boolean =>
  "authorization" in headers || "proxy-authorization" in headers;

/** The tag of a From or To, "" when it has none. */
export const tagOf = (value: string | undefined): string =>
  value === undefined ? "" : (parseNameAddr(value)?.tag ?? "");

/** The id of the dialog that a request begins with whoever it is from. */
export const callersDialog = (headers: Headers): string => dialogIdOf(headers["call-id"] ?? "", tagOf(headers.from));

/** Fields of a request passed on within a dialog. */
export function relayedRequestHeaders(headers: Headers): Record<string, string> {
  const passed = endToEnd(headers);
  passed["max-forwards"] = String(Math.max(0, hopsLeft(headers)));
  return passed;
}

/** A response passed on as it is. `transport`: of the leg it goes to, for Contacts that say where to ask instead. */
export function relayedReply(
  response: IncomingResponse,
  transport = "",
): Reply & { readonly headers: Record<string, string> } {
  const headers = endToEnd(response.headers);
  const contact = response.headers.contact;
  const shown =
    namesContacts(response.status) && contact !== undefined ? hiddenContacts(contact, transport) : undefined;
  if (shown !== undefined) headers.contact = shown;
  dropOption(headers, "require", "100rel");
  return { status: response.status, reason: response.reason, headers, body: response.body };
}

/** What an ACK carries across: the body of a late answer and what describes it. */
export const relayedAck = (ack: Message): Message => ({ headers: endToEnd(ack.headers), body: ack.body });

/** The INVITE that goes to an agent, and where. */
export function inviteFor(invite: IncomingRequest, to: Destination): SentRequest {
  const request = requestFor(invite, to);
  const { headers } = request;
  // PRACK is settled leg by leg, so an agent without it costs the caller nothing.
  if (dropOption(headers, "require", "100rel")) addOption(headers, "supported", "100rel");
  const contact = contactOf(invite.headers.contact, to.hop.transport, isSecure(invite, to.hop));
  if (contact) headers.contact = contact;
  return request;
}

/** A request outside any dialog as it is sent on. */
export interface SentRequest {
  readonly uri: string;
  /** A SIP URI of where to send it, where its own does not say. */
  readonly nextHop?: string;
  readonly headers: Record<string, string>;
}

/** Any request outside a dialog that goes to an agent, and where. */
export function requestFor(request: IncomingRequest, { hop, numbers, redirect }: Destination): SentRequest {
  const headers = relayedRequestHeaders(request.headers);
  headers.from = fromOurselves(request.headers.from ?? "", numbers?.calling);
  // A redirection changes where the request goes, not whom it was for (RFC 3261 section 8.1.3.4).
  headers.to = toHop(request.headers.to ?? "", hop.address, redirect ? undefined : numbers?.called);
  if (hop.route !== undefined) headers.route = hop.route;
  if (hop.requestUri !== undefined) return { uri: hop.requestUri, headers };
  const uri = relocated(redirect?.uri ?? request.uri, hop.address, numbers?.called);
  return { uri: isSecure(request, hop) ? uri.replace(/^sip:/, "sips:") : `${uri}${hop.transport}`, headers };
}

/** A caller that asks for TLS by the scheme has it so on the next leg too, where that leg can. */
const isSecure = ({ uri }: IncomingRequest, { secure, transport }: NextHop): boolean =>
  secure === true || (transport === ";transport=tls" && isSips(uri));

/** Display name and user pass; the host is the address it is sent from, which only the engine knows. */
function fromOurselves(from: string, calling?: string): string {
  const address = parseNameAddr(from);
  if (!address) return "<sip:anonymous@anonymous.invalid>";
  const host = parseUri(address.uri)?.host;
  // anonymous.invalid is part of what privacy means (RFC 3323 section 4.1.1.3), not the caller's whereabouts.
  const anonymous = host === undefined || host.toLowerCase().endsWith(".invalid");
  return named(address.display, anonymous ? address.uri : relocated(address.uri, "localhost", calling));
}

export function toHop(to: string, hop: string, called?: string): string {
  const address = parseNameAddr(to);
  return address ? named(address.display, relocated(address.uri, hop, called)) : `<sip:${hop}>`;
}

/**
 * The user part of a Contact passes, at our address; the engine's own Contact serves when there is none. `secure`: the leg
 * is set up by SIPS URIs (RFC 3261 section 12.1.1).
 */
export function contactOf(contact: string | undefined, transport: string, secure = false): string | undefined {
  const uri = contact === undefined ? undefined : parseUri(parseNameAddr(contact)?.uri ?? "");
  if (!uri || uri.user === "") return undefined;
  return secure ? `<sips:${uri.user}@localhost>` : `<sip:${uri.user}@localhost${transport}>`;
}

const named = (display: string, uri: string): string => (display === "" ? `<${uri}>` : `${display} <${uri}>`);

/** A URI's user, or another one, at another address. A telephone number becomes a user there (RFC 3261 section 19.1.6). */
export function relocated(text: string, address: string, other?: string): string {
  const uri = parseUri(text);
  if (!uri) return /^tel:/i.test(text) ? `sip:${other ?? text.slice(4)}@${address};user=phone` : `sip:${address}`;
  const password = uri.password === "" ? "" : `:${uri.password}`;
  const user = uri.user === "" ? "" : `${other ?? uri.user}${password}@`;
  return `sip:${user}${address}${portable(uri.params)}`;
}

/** URI parameters that speak of the address, not of the user. */
const ofTheAddress = new Set(["transport", "maddr", "ttl", "lr"]);

function portable(params: string): string {
  if (params === "") return "";
  const kept = params
    .slice(1)
    .split(";")
    .filter((param) => !ofTheAddress.has((param.split("=", 1)[0] ?? "").trim().toLowerCase()));
  return kept.length === 0 ? "" : `;${kept.join(";")}`;
}

/** Whether a list of option tags (Supported, Require) holds one. */
export function hasOption(list: string | undefined, option: string): boolean {
  return list?.includes(option) === true && options(list).includes(option);
}

/** Takes an option tag out of a list, and an empty list away. True when it was there. */
export function dropOption(headers: Record<string, string>, name: string, option: string): boolean {
  const list = headers[name];
  if (list === undefined || !hasOption(list, option)) return false;
  const left = options(list).filter((each) => each !== option);
  if (left.length > 0) headers[name] = left.join(", ");
  else delete headers[name];
  return true;
}

export function addOption(headers: Record<string, string>, name: string, option: string): void {
  const list = headers[name];
  if (!hasOption(list, option)) headers[name] = list ? `${list}, ${option}` : option;
}

const options = (list: string): string[] => list.split(",").map((option) => option.trim().toLowerCase());
