import { type Dialog, ownContact } from "../dialog/dialog.ts";
import { type InDialogRequest, nextHop, requestInDialog } from "../dialog/dialog-request.ts";
import type { SipMessage } from "../message/sip-message.ts";
import type { Flow } from "../transport/transport.ts";
import { appHeaderLines, engineContact, givenContact, viaOf, writtenInRequest } from "./app-headers.ts";
import { newBranch } from "./identifiers.ts";
import { listenerNamed } from "./path-back.ts";
import type { NoWay, WayOut } from "./way-out.ts";

/** A request ready to go. */
export interface ReadyRequest {
  readonly method: string;
  readonly text: string;
  readonly branch: string;
}

/** Requests whose Contact becomes the peer's target for us, so that they must have one (RFC 3261 section 12.2.1.1, RFC 6665). */
const withContact = new Set(["INVITE", "SUBSCRIBE", "REFER", "UPDATE", "NOTIFY"]);

/** Finds the way to a dialog's peer: `then` is called once, at once unless a name has to be resolved. */
export function wayInDialog(way: WayOut, dialog: Dialog, then: (way: Flow | NoWay) => void): void {
  way.find(nextHop(dialog), false, then, { from: listenerNamed(dialog.listener) });
}

/** A request of the engine's own. `headers`: whole lines. */
export function ownRequest(dialog: Dialog, flow: Flow, method: string, headers = ""): ReadyRequest {
  return ready(dialog, flow, { method, headers });
}

/** The text of a request of the engine's own that has no way to go. */
export const unsentRequest = (dialog: Dialog, method: string, headers: string): string =>
  requestInDialog(dialog, { method, headers, via: `SIP/2.0/UDP ${dialog.listener};branch=${newBranch()}` });

/** The application's request. Dialog identifiers and the path are the dialog's, whatever the application wrote. */
export function appRequest(dialog: Dialog, flow: Flow, message: SipMessage): ReadyRequest {
  const { method } = message;
  const given = givenContact(message, flow);
  const contact = withContact.has(method) ? (ownContact(dialog, given) ?? engineContact(flow, dialog.secure)) : given;
  return ready(dialog, flow, {
    method,
    maxForwards: message.maxForwards < 0 ? 70 : message.maxForwards,
    headers: appHeaderLines(message, writtenInRequest, flow),
    body: message.body,
    ...(contact === undefined ? {} : { contact }),
    ...(method === "ACK" || message.requestUri.includes("placeholder") ? {} : { requestUri: message.requestUri }),
  });
}

function ready(dialog: Dialog, flow: Flow, request: Omit<InDialogRequest, "via">): ReadyRequest {
  const branch = newBranch();
  const text = requestInDialog(dialog, { ...request, via: viaOf(flow, branch) });
  return { method: request.method, text, branch };
}
