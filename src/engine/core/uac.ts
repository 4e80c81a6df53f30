import { ownText } from "../../own-text.ts";
import { dialogId as dialogIdOf } from "../dialog/dialog.ts";
import { routed, routeUri } from "../dialog/route-set.ts";
import { bracketed } from "../message/name-addr.ts";
import type { SipMessage } from "../message/sip-message.ts";
import { hostPort, isSips, parseUri } from "../message/uri.ts";
import type { Flow } from "../transport/transport.ts";
import {
  appHeaderLines,
  engineContact,
  givenContact,
  type LocalSide,
  lacksContentType,
  localise,
  localUri,
  viaOf,
  writtenInRequest,
} from "./app-headers.ts";
import type { AppMessage, AppSession } from "./app-session.ts";
import type { CoreContext } from "./context.ts";
import type { EngineDialog } from "./engine-dialog.ts";
import { localParty, nobody } from "./frame-writer.ts";
import { isOwnCallId, linkId, newBranch, newCallId, newTag } from "./identifiers.ts";
import { appRequest, type ReadyRequest, wayInDialog } from "./in-dialog-text.ts";
import { NewInvite, ReInvite } from "./outgoing-invite.ts";
import type { OutgoingRequest } from "./outgoing-request.ts";
import { isPath } from "./path-back.ts";
import { InDialogOutgoing, PlainRequest, subscribes } from "./plain-request.ts";
import type { NoWay } from "./way-out.ts";

/** Sends what applications ask for. */
export class Uac {
  readonly #core: CoreContext;

  constructor(core: CoreContext) {
    this.#core = core;
  }

  request(app: AppMessage, session: AppSession): void {
    const { method } = app.message;
    if (method === "CANCEL" && app.txnId !== "") this.#cancel(app, session);
    else if (app.txnId !== "") this.#refuse(app, session, `a transaction id makes no sense with ${method}`);
    else if (lacksContentType(app.message)) this.#refuse(app, session, "missing content-type");
    else if (app.dialogId !== "") this.#inDialog(app, session);
    else this.#outsideDialog(app, session);
  }

  #outsideDialog(app: AppMessage, session: AppSession): void {
    const { message } = app;
    if (message.method === "ACK" || message.method === "CANCEL") {
      this.#refuse(app, session, `${message.method} must name what it belongs to`);
      return;
    }
    const routeSet = this.#routeSetOf(message);
    if (routeSet === undefined) {
      this.#refuse(app, session, "invalid route");
      return;
    }
    const begun: NewRequest = {
      routeSet,
      callId: message.callId,
      cseq: message.cseq < 0 ? firstCseq(this.#core.clock.date()) : message.cseq,
      fromTag: message.fromTag || newTag(),
    };
    const send = (way: Flow | NoWay): void => {
      if (!session.here) return;
      if (typeof way !== "string") this.#sendNew(app, session, begun, way);
      else if (way === "name") this.#nameFailed(app, session, begun, nextHop);
      else this.#refuse(app, session, refusals[way](message));
    };
    const watch = message.method === "INVITE" ? "always" : "if-room";
    const [first = ""] = routeSet;
    const nearest = routeUri(first) ?? message.requestUri;
    const nextHop = app.nextHop || nearest;
    const name = app.nextHop === "" ? undefined : parseUri(nearest)?.host;
    this.#core.way.find(nextHop, true, send, { watch, name });
  }

  /**
   * The application's Route, nearest hop first; undefined for a malformed one. One that names the engine itself has brought
   * the request here, and is passed (RFC 3261 section 16.4): applications may copy it from what they received.
   */
  #routeSetOf(message: SipMessage): readonly string[] | undefined {
    if (message.header("route") === undefined) return none;
    const routes = message.headerValues("route");
    const uris = routes.map((route) => parseUri(routeUri(route) ?? ""));
    if (routes.length === 0 || uris.includes(undefined)) return undefined;
    const onward = uris.findIndex((uri) => uri && !this.#core.way.leadsHere(uri));
    return onward < 0 ? none : routes.slice(onward);
  }

  #sendNew(app: AppMessage, session: AppSession, begun: NewRequest, flow: Flow): void {
    const branch = newBranch();
    const callId = begun.callId || newCallId(hostPort(flow.localAddress, 0));
    const { outgoing, text } = this.#begin(app, session, { ...begun, callId }, flow, branch);
    if (outgoing.method === "INVITE" && isOwnCallId(callId)) {
      this.#core.ownInvites.set(callId, app.message.requestUri);
    }
    this.#sent(app, session, outgoing.id, text, flow);
    outgoing.send(branch, flow);
  }

  /** A name that does not resolve is a transport failure to the application, so the request counts as sent. */
  #nameFailed(app: AppMessage, session: AppSession, begun: NewRequest, nextHop: string): void {
    const callId = begun.callId || newCallId("invalid");
    const { outgoing, text } = this.#begin(app, session, { ...begun, callId }, undefined, newBranch());
    session.deliver(this.#core.frames.requestSent(app.frameId, text, nobody, outgoing.id));
    this.#core.counters.localFailures++;
    this.#core.undelivered.tell({
      peer: parseUri(nextHop)?.host ?? nextHop,
      method: app.message.method,
      "call-id": callId,
      reason: "no address for the name",
    });
    outgoing.makeUp(503, "DNS Error");
  }

  #begin(app: AppMessage, session: AppSession, begun: NewRequest, flow: Flow | undefined, branch: string) {
    const { message } = app;
    const { method } = message;
    const requestUri = ownText(message.requestUri);
    const text = newRequestText(message, begun, flow ?? nowhere, branch);
    const dialogId = method === "INVITE" || subscribes(method) ? dialogIdOf(begun.callId, begun.fromTag) : "";
    const contact = givenContact(message, flow ?? nowhere);
    const sent = {
      ...{ requestUri, callId: ownText(begun.callId), cseq: begun.cseq },
      contact: contact && ownText(contact),
      path: isPath(app.nextHop) ? ownText(app.nextHop) : "",
      listener: flow ? hostPort(flow.localAddress, flow.localPort) : "",
    };
    const outgoing =
      method === "INVITE"
        ? new NewInvite(this.#core, session, dialogId, sent)
        : new PlainRequest(this.#core, session, method, dialogId, sent);
    outgoing.accept(text);
    return { outgoing, text };
  }

  #inDialog(app: AppMessage, session: AppSession): void {
    const { message } = app;
    const { method } = message;
    const dialog = this.#core.dialogs.get(app.dialogId);
    const problem = dialog === undefined ? noDialog(method) : obstacle(dialog, method);
    if (dialog === undefined || problem !== "") {
      this.#refuse(app, session, `Server error: ${problem}`);
      return;
    }
    wayInDialog(this.#core.way, dialog.data, (way) => {
      if (typeof way === "string") return this.#refuse(app, session, refusals[way](message));
      const request = appRequest(dialog.data, way, message);
      if (method === "ACK") this.#ack(app, session, dialog, request, way);
      else if (method === "BYE" && this.#core.dialogs.answers.has(dialog.id))
        this.#holdBye(app, session, dialog, request, way);
      else this.#sendInDialog(app, session, dialog, request, way);
    });
  }

  #ack(app: AppMessage, session: AppSession, dialog: EngineDialog, request: ReadyRequest, flow: Flow): void {
    this.#sent(app, session, linkId(), request.text, flow);
    dialog.outgoingInvite?.acknowledge(dialog, request, flow);
  }

  #sendInDialog(app: AppMessage, session: AppSession, dialog: EngineDialog, request: ReadyRequest, flow: Flow): void {
    // A session that ends needs no new description any more; its INVITE gets its 487.
    if (request.method === "BYE") dialog.outgoingInvite?.cancel();
    const outgoing = this.#newInDialog(app, session, dialog, request);
    this.#sent(app, session, outgoing.id, request.text, flow);
    outgoing.send(request.branch, flow);
  }

  /** The callee must not hang up before its answer is acknowledged (RFC 3261 section 15). */
  #holdBye(app: AppMessage, session: AppSession, dialog: EngineDialog, request: ReadyRequest, flow: Flow): void {
    const outgoing = this.#newInDialog(app, session, dialog, request);
    dialog.heldBye = () => outgoing.send(request.branch, flow);
    this.#sent(app, session, outgoing.id, request.text, flow);
  }

  #newInDialog(app: AppMessage, session: AppSession, dialog: EngineDialog, request: ReadyRequest): OutgoingRequest {
    const outgoing =
      request.method === "INVITE"
        ? new ReInvite(this.#core, session, dialog)
        : new InDialogOutgoing(this.#core, session, dialog, app.message);
    outgoing.accept(request.text);
    return outgoing;
  }

  #cancel(app: AppMessage, session: AppSession): void {
    const outgoing = this.#core.outgoing.get(app.txnId);
    const reason = app.message.header("reason");
    if (!outgoing?.cancel(reason === undefined ? "" : `Reason: ${reason}\r\n`)) {
      this.#refuse(app, session, `unable to cancel unknown transaction id: ${app.txnId}`);
      return;
    }
    // Whether it is sent at once or after the first provisional response is the transaction's affair.
    session.deliver(this.#core.frames.requestSent(app.frameId, app.message.text, nobody, linkId()));
  }

  #sent(app: AppMessage, session: AppSession, txnId: string, text: string, flow: Flow): void {
    const echo = session.dialect.requestEcho(text);
    if (echo !== undefined) session.deliver(this.#core.frames.requestSent(app.frameId, echo, localParty(flow), txnId));
  }

  #refuse(app: AppMessage, session: AppSession, reason: string): void {
    this.#core.counters.refusedFrames++;
    session.refuse(app.frameId, reason);
  }
}

interface NewRequest {
  /** "" until it is known what address it is sent from. */
  readonly callId: string;
  readonly cseq: number;
  readonly fromTag: string;
  /** Route values, nearest hop first. */
  readonly routeSet: readonly string[];
}

const none: readonly string[] = [];

/** What stands for the flow of a request that goes nowhere. */
const nowhere: LocalSide = {
  protocol: "udp",
  localAddress: "invalid",
  localPort: 0,
};

function newRequestText(message: SipMessage, begun: NewRequest, flow: LocalSide, branch: string): string {
  const { method, requestUri } = message;
  const from = bracketed(message.header("from") ?? `<${localUri(flow)}>`);
  const given = givenContact(message, flow);
  const begins = method === "INVITE" || subscribes(method);
  const contact = given ?? (begins ? engineContact(flow, isSips(requestUri)) : undefined);
  const to = bracketed(message.header("to") ?? `<${requestUri}>`);
  const { body } = message;
  const way = routed(begun.routeSet, requestUri);
  return (
    `${method} ${way.requestUri} SIP/2.0\r\nVia: ${viaOf(flow, branch)}\r\n${way.routes}` +
    `Max-Forwards: ${message.maxForwards < 0 ? 70 : message.maxForwards}\r\n` +
    `From: ${localise(message.fromTag === "" ? `${from};tag=${begun.fromTag}` : from, flow)}\r\n` +
    `To: ${localise(to, flow)}\r\nCall-ID: ${begun.callId}\r\nCSeq: ${begun.cseq} ${method}\r\n` +
    `${contact === undefined ? "" : `Contact: ${contact}\r\n`}${appHeaderLines(message, writtenInRequest, flow)}` +
    `Content-Length: ${body.length}\r\n\r\n${body}`
  );
}

/** Grows with time, so that a later request with the same Call-ID has a greater one (RFC 3261 section 10.2). */
const firstCseq = (date: number): number => Math.floor(date / 1_000) % 2 ** 31;

/** drachtio-srf knows the first of these by its wording. */
const noDialog = (method: string): string =>
  method === "ACK"
    ? "ACK for non-success final response is automatically generated by server"
    : "unable to find dialog for dialog id provided";

/** Why this request cannot be sent in the dialog now, "" if it can. */
function obstacle(dialog: EngineDialog, method: string): string {
  const { outgoingInvite, incomingInvite } = dialog;
  if (method === "ACK") return outgoingInvite?.over ? "" : "no INVITE waits for an ACK";
  if (method === "PRACK") return outgoingInvite ? "" : "unable to find IIP when sending PRACK";
  // RFC 3261 section 14.1: one INVITE at a time in a dialog.
  if (method === "INVITE" && (outgoingInvite ?? incomingInvite)) return "an INVITE is in progress";
  return "";
}

const refusals: Record<NoWay, (message: SipMessage) => string> = {
  invalid: ({ method, requestUri }) => `invalid request-uri: ${method} ${requestUri} SIP/2.0`,
  "no-transport": () => "requested protocol/transport not available",
  itself: () => "can not send request to myself",
  name: () => "the name of the next hop is unknown",
};
