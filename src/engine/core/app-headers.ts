import { wireName } from "../message/header-names.ts";
import { bracketed } from "../message/name-addr.ts";
import type { SipMessage } from "../message/sip-message.ts";
import { hostPort } from "../message/uri.ts";
import type { Flow } from "../transport/transport.ts";

/** Our end of a flow: what Via and Contact tell. */
export type LocalSide = Pick<Flow, "protocol" | "localAddress" | "localPort">;

/** Headers that the engine writes; what the application says is heard of Route alone, outside dialogs. */
const engineHeaders = ["via", "route", "record-route", "rseq", "content-length"];

/** Beside those, what the engine writes itself into each kind of message, with the application's value or without. */
export const writtenInRequest: ReadonlySet<string> = new Set([
  ...engineHeaders,
  ...["max-forwards", "from", "to", "call-id", "cseq", "contact"],
]);
export const writtenInResponse: ReadonlySet<string> = new Set([
  ...engineHeaders,
  ...["from", "to", "call-id", "cseq", "contact", "timestamp"],
]);

/** Headers in which an application may write `localhost` for the engine's own address. */
const localised = new Set(["from", "to", "contact", "p-asserted-identity"]);

/**
 * Visits the application's header lines that are not in `written`. Names it wrote in lower case get their usual spelling, and
 * an SDP body needs no Content-Type from it.
 */
export function eachAppHeader(
  message: SipMessage,
  written: ReadonlySet<string>,
  flow: LocalSide,
  visit: (name: string, value: string) => void,
): void {
  let typed = false;
  message.eachHeader((lowerName, name, value) => {
    if (written.has(lowerName)) return;
    typed ||= lowerName === "content-type";
    visit(spelled(lowerName, name), localised.has(lowerName) ? localise(value, flow) : value);
  });
  if (!typed && isSdp(message.body)) visit("Content-Type", "application/sdp");
}

/** The same as whole lines. */
export function appHeaderLines(message: SipMessage, written: ReadonlySet<string>, flow: LocalSide): string {
  let lines = "";
  eachAppHeader(message, written, flow, (name, value) => {
    lines += `${name}: ${value}\r\n`;
  });
  return lines;
}

/** A body whose kind nobody can tell. */
export const lacksContentType = (message: SipMessage): boolean =>
  message.body !== "" && !isSdp(message.body) && message.header("content-type") === undefined;

const isSdp = (body: string): boolean => body.startsWith("v=0");

/** Private headers keep the spelling the application chose. */
function spelled(lowerName: string, name: string): string {
  return lowerName.startsWith("x-") ? name : wireName(name);
}

/** The application cannot know which local address will be used, so `localhost` stands for it. */
export function localise(value: string, flow: LocalSide): string {
  return value.includes("localhost") ? placed(value, hostPort(flow.localAddress, flow.localPort)) : value;
}

/** The same with an address that is known: `host:port`. */
export const placed = (value: string, address: string): string =>
  value.replace(/([@:])localhost(?![\w.:-])/g, `$1${address}`);

/** The URI at which the peer of `flow` reaches the engine; `secure`: by SIPS, which means TLS by itself (RFC 5630). */
export function localUri(flow: LocalSide, secure = false): string {
  const address = hostPort(flow.localAddress, flow.localPort);
  if (secure) return `sips:${address}`;
  return `sip:${address}${flow.protocol === "udp" ? "" : `;transport=${flow.protocol}`}`;
}

/** A Contact that leads back to the engine. */
export const engineContact = (flow: LocalSide, secure: boolean): string => `<${localUri(flow, secure)}>`;

/** The application's Contact, all values on one line; undefined when it gave none. */
export function givenContact(message: SipMessage, flow: LocalSide): string | undefined {
  const values = message.headerValues("contact");
  return values.length === 0 ? undefined : localise(values.map(bracketed).join(", "), flow);
}

/**
 * The Via value of a request of ours on `flow` (RFC 3261 section 18.1.1, RFC 3581). On TLS it offers the peer to send its own
 * requests over the same connection (RFC 5923).
 */
export function viaOf(flow: LocalSide, branch: string): string {
  const sentBy = hostPort(flow.localAddress, flow.localPort);
  return `SIP/2.0/${flow.protocol.toUpperCase()} ${sentBy};branch=${branch};rport${flow.protocol === "tls" ? ";alias" : ""}`;
}
