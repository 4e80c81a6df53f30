import type { Dialog } from "./dialog.ts";
import { routed, routeUri } from "./route-set.ts";

/** What is to be sent inside a dialog. */
export interface InDialogRequest {
  readonly method: string;
  /** Our Via value, with its branch. */
  readonly via: string;
  /** In place of the remote target. */
  readonly requestUri?: string;
  /** 0 to 255; default 70. */
  readonly maxForwards?: number;
  /** Our Contact value; none when absent. */
  readonly contact?: string;
  /** Whole lines to add, each with its CRLF. */
  readonly headers?: string;
  readonly body?: string;
}

/**
 * The text of a request inside the dialog, which takes the next CSeq number; an ACK takes that of our latest INVITE (RFC 3261
 * sections 12.2.1.1 and 13.2.2.4).
 */
export function requestInDialog(dialog: Dialog, request: InDialogRequest): string {
  const { method, body = "" } = request;
  const target = request.requestUri ?? dialog.remoteTarget;
  const { requestUri, routes } = routed(dialog.routeSet, target);
  const contact = request.contact === undefined ? "" : `Contact: ${request.contact}\r\n`;
  return (
    `${method} ${requestUri} SIP/2.0\r\nVia: ${request.via}\r\n${routes}` +
    `Max-Forwards: ${request.maxForwards ?? 70}\r\nFrom: ${dialog.local}\r\nTo: ${dialog.remote}\r\n` +
    `Call-ID: ${dialog.callId}\r\nCSeq: ${cseqFor(dialog, method)} ${method}\r\n${contact}${request.headers ?? ""}` +
    `Content-Length: ${body.length}\r\n\r\n${body}`
  );
}

/** The URI whose host the dialog's next request goes to: the nearest hop of the route set, the peer's own path, or the target. */
export function nextHop(dialog: Dialog, requestUri = dialog.remoteTarget): string {
  const [first] = dialog.routeSet;
  return first === undefined ? dialog.path || requestUri : (routeUri(first) ?? requestUri);
}

function cseqFor(dialog: Dialog, method: string): number {
  if (method === "ACK") return dialog.inviteSeq;
  // Any number will do for the first one (RFC 3261 section 12.2.1.1: an empty local sequence number).
  dialog.localSeq = dialog.localSeq < 0 ? 1 : dialog.localSeq + 1;
  if (method === "INVITE") dialog.inviteSeq = dialog.localSeq;
  return dialog.localSeq;
}
