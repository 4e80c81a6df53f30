import { ownText } from "../../own-text.ts";
import { parseNameAddr } from "../message/name-addr.ts";
import type { SipMessage } from "../message/sip-message.ts";
import { isSips } from "../message/uri.ts";

/**
 * One dialog (RFC 3261 section 12), as plain data: `JSON.stringify` writes it out and `JSON.parse` brings it back. Only the
 * functions of this folder change it.
 */
export interface Dialog {
  /** How the application names it; the store lengthens it for a second fork. */
  id: string;
  /** Which side we are of the request that made it. */
  readonly role: "uac" | "uas";
  readonly callId: string;
  readonly localTag: string;
  readonly remoteTag: string;
  /** Our From value in requests we send, tag included. */
  readonly local: string;
  /** The To value in requests we send, tag included. */
  readonly remote: string;
  state: "early" | "confirmed";
  /** CSeq number of our latest request; -1 before the first. */
  localSeq: number;
  /** CSeq number of the peer's latest request; -1 before the first. */
  remoteSeq: number;
  /** CSeq number of our latest INVITE, which its ACK repeats; -1 before the first. */
  inviteSeq: number;
  /** The URI in-dialog requests are for: the peer's latest Contact. */
  remoteTarget: string;
  /** `host:port` of the listener that it was set up by: what follows leaves from there too. "" = any. */
  listener: string;
  /** The Contact value that the application last gave in it, "" while it has given none: the peer's target does not wander. */
  localContact: string;
  /** Route values for our requests, nearest hop first. */
  routeSet: readonly string[];
  /** A URI that says by which path alone the peer is reached; "" = by the route set, or by the remote target. */
  path: string;
  /** Set up by a SIPS Request-URI over TLS: requests must use SIPS too. */
  readonly secure: boolean;
}

/** The id of the application protocol: in both roles the From tag is that of the request that made the dialog. */
export const dialogId = (callId: string, fromTag: string): string => `${callId};from-tag=${fromTag}`;

/** The dialog that our response to `request` with To tag `localTag` makes (RFC 3261 section 12.1.1). `status`: 101 to 299. */
export function uasDialog(request: SipMessage, localTag: string, status: number, overTls = false): Dialog {
  const callId = ownText(request.callId);
  const fromTag = ownText(request.fromTag);
  const to = ownText(request.header("to") ?? "");
  const from = ownText(request.header("from") ?? "");
  return {
    id: dialogId(callId, fromTag),
    role: "uas",
    callId,
    localTag: ownText(localTag),
    remoteTag: fromTag,
    local: request.toTag === "" ? `${to};tag=${localTag}` : to,
    remote: from,
    state: stateFor(status),
    localSeq: -1,
    remoteSeq: request.cseq,
    inviteSeq: -1,
    remoteTarget: contactUri(request) ?? ownText(parseNameAddr(from)?.uri ?? ""),
    listener: "",
    localContact: "",
    routeSet: routeSetOf(request),
    path: "",
    secure: overTls && isSips(request.requestUri),
  };
}

/**
 * The dialog that a response (101 to 299, with To tag) to our request makes (RFC 3261 section 12.1.2). What the response
 * repeats of the request (From, Call-ID, CSeq) is taken from it. `requestUri`: ours, the target until a Contact is known.
 */
export function uacDialog(response: SipMessage, requestUri: string): Dialog {
  const { cseq } = response;
  const callId = ownText(response.callId);
  const fromTag = ownText(response.fromTag);
  return {
    id: dialogId(callId, fromTag),
    role: "uac",
    callId,
    localTag: fromTag,
    remoteTag: ownText(response.toTag),
    local: ownText(response.header("from") ?? ""),
    remote: ownText(response.header("to") ?? ""),
    state: stateFor(response.status),
    localSeq: cseq,
    remoteSeq: -1,
    inviteSeq: response.method === "INVITE" ? cseq : -1,
    remoteTarget: contactUri(response) ?? ownText(requestUri),
    listener: "",
    localContact: "",
    routeSet: routeSetOf(response).reverse(),
    path: "",
    // It was sent over nothing else.
    secure: isSips(requestUri),
  };
}

/**
 * An early dialog has its 2xx. With the peer's `response`, route set and target are those of the 2xx, whatever the
 * provisional response said (RFC 3261 section 13.2.2.4).
 */
export function confirm(dialog: Dialog, response?: SipMessage): void {
  dialog.state = "confirmed";
  if (response === undefined) return;
  dialog.routeSet = routeSetOf(response).reverse();
  dialog.remoteTarget = contactUri(response) ?? dialog.remoteTarget;
}

/** Our Contact from now on: `given` by the application, or what it gave before; undefined when it never gave one. */
export function ownContact(dialog: Dialog | undefined, given: string | undefined): string | undefined {
  if (given !== undefined && dialog !== undefined) dialog.localContact = ownText(given);
  return given ?? (dialog?.localContact || undefined);
}

/** Whether a request, or the 2xx to it, moves the remote target (RFC 3261 section 12.2, RFC 3311, RFC 6665 section 4.4.1). */
function refreshesTarget(method: string): boolean {
  return method === "INVITE" || method === "UPDATE" || method === "SUBSCRIBE" || method === "NOTIFY";
}

/** Takes the peer's new Contact from a target refresh request that we accept, or from the 2xx to one of ours. */
export function refreshTarget(dialog: Dialog, message: SipMessage): void {
  if (!refreshesTarget(message.method) || message.status >= 300) return;
  if (!message.isRequest && message.status < 200) return;
  dialog.remoteTarget = contactUri(message) ?? dialog.remoteTarget;
}

/**
 * Counts a request of the peer in. False: its CSeq number is not above the last one's, and it is to be refused by 500
 * (RFC 3261 section 12.2.2). ACK and CANCEL have the number of their INVITE and always pass.
 */
export function takeRequest(dialog: Dialog, request: SipMessage): boolean {
  if (request.method === "ACK" || request.method === "CANCEL") return true;
  if (request.cseq <= dialog.remoteSeq) return false;
  dialog.remoteSeq = request.cseq;
  return true;
}

const stateFor = (status: number): Dialog["state"] => (status < 200 ? "early" : "confirmed");

function contactUri(message: SipMessage): string | undefined {
  const [contact] = message.headerValues("contact");
  const uri = contact === undefined ? undefined : parseNameAddr(contact)?.uri;
  return uri === undefined ? undefined : ownText(uri);
}

const routeSetOf = (message: SipMessage): string[] => message.headerValues("record-route").map(ownText);
