import { ownContact, refreshTarget, uasDialog } from "../dialog/dialog.ts";
import type { SipMessage } from "../message/sip-message.ts";
import { hostPort, isSips } from "../message/uri.ts";
import { responseTo } from "../message/write.ts";
import { magicCookie } from "../transaction/keys.ts";
import type { ServerTransaction } from "../transaction/server-transaction.ts";
import { patience } from "../transaction/timers.ts";
import { stampVia } from "../transport/transport.ts";
import { eachAppHeader, engineContact, givenContact, lacksContentType, writtenInResponse } from "./app-headers.ts";
import type { AppMessage, AppSession } from "./app-session.ts";
import type { CoreContext } from "./context.ts";
import type { EngineDialog } from "./engine-dialog.ts";
import { remoteParty } from "./frame-writer.ts";
import { hangUp } from "./hang-up.ts";
import { isOwnCallId } from "./identifiers.ts";
import { IncomingRequest } from "./incoming-request.ts";
import { pathOfHidden } from "./path-back.ts";
import { endsSubscription, isLastNotify, subscribes } from "./plain-request.ts";
import { ReliableProvisionals } from "./reliable-provisionals.ts";

/** Methods that make sense only within a dialog. */
const dialogOnly = new Set(["BYE", "UPDATE", "PRACK"]);

/** Gives requests from the network to applications, and their answers to the network. */
export class Uas {
  readonly #core: CoreContext;

  constructor(core: CoreContext) {
    this.#core = core;
  }

  /** A request outside any dialog. */
  request(server: ServerTransaction): void {
    const { request } = server;
    const { counters } = this.#core;
    if (request.method === "INVITE" && this.#isLoop(request)) {
      counters.loops++;
      refuse(server, 482);
      return;
    }
    if (lacksContact(request)) {
      counters.withoutContact++;
      refuse(server, 400);
      return;
    }
    if (dialogOnly.has(request.method)) {
      counters.withoutDialog++;
      refuse(server, 481);
      return;
    }
    const session = this.#core.apps.next(request.method);
    if (session === undefined) {
      counters.withoutApplication++;
      refuse(server, 503);
      return;
    }
    const incoming = new IncomingRequest(server, session);
    this.expectAnswer(incoming);
    const { localAddress, localPort } = server.flow;
    const party = remoteParty(server.flow);
    session.deliver(
      this.#core.frames.request(
        session.dialect.showRequest(request, incoming.id),
        party,
        incoming.id,
        `${localAddress}|${localPort}`,
      ),
    );
  }

  /** Keeps a request that is being given to its application, and answers it if that does not. */
  expectAnswer(incoming: IncomingRequest): void {
    const { clock, timers, incoming: all, counters } = this.#core;
    counters.requestsDelivered++;
    all.add(incoming);
    // A little before the peer's own timer F ends its patience (RFC 4320 section 4.2: a later answer only does harm). A caller
    // has been told 100 and waits for three minutes, timer C: an application may try one silent next hop after another.
    const shareOfPatience = incoming.method === "INVITE" ? 6 : 15 / 16;
    incoming.waitForAnswer(clock, patience(timers) * shareOfPatience, () => {
      counters.unansweredByApplication++;
      this.reject(incoming, 500);
    });
  }

  /** The engine answers in the application's place. */
  reject(incoming: IncomingRequest, status: number, lines: readonly [name: string, value: string][] = []): void {
    refuse(incoming.server, status, lines);
    this.#finished(incoming, status);
  }

  /** The caller gave an INVITE up: the layer has answered the CANCEL. */
  cancel(server: ServerTransaction, cancel: SipMessage): void {
    const incoming = this.#core.incoming.of(server);
    if (incoming === undefined) {
      refuse(server, 487);
      return;
    }
    this.tellCancelled(incoming, cancel);
    this.reject(incoming, 487);
  }

  /** Tells the application that nobody waits for its answer any more. Whatever `cause` is, it knows this as CANCEL. */
  tellCancelled(incoming: IncomingRequest, cause: SipMessage): void {
    const cancel = incoming.owner.dialect.showRequest(cause, incoming.id, "CANCEL");
    const dialogId = incoming.dialog?.id ?? "";
    const party = remoteParty(incoming.server.flow);
    incoming.owner.deliver(this.#core.frames.inDialog(cancel, party, incoming.id, dialogId));
  }

  /** An application's response. */
  response(app: AppMessage, session: AppSession): void {
    const incoming = this.#core.incoming.get(app.txnId);
    const problem =
      incoming === undefined ? "Response not sent due to unknown transaction" : unfit(app.message, incoming);
    if (incoming === undefined || problem !== "") {
      this.#core.counters.refusedFrames++;
      session.refuse(app.frameId, problem);
      return;
    }
    this.#respond(incoming, app, session);
  }

  #respond(incoming: IncomingRequest, app: AppMessage, session: AppSession): void {
    const { message } = app;
    const { status } = message;
    const { server, method } = incoming;
    if (incoming.status === 0 && server.request.toTag === "" && message.toTag !== "") server.localTag = message.toTag;
    incoming.answered(status);
    if (status < 300) this.#beginDialog(incoming, status);
    const { dialog } = incoming;
    if (dialog && status >= 200 && status < 300 && subscribes(method)) {
      this.#core.dialogs.subscribed(dialog, server.request, message);
    }
    const dialogId = this.#dialogIdOf(incoming, status);
    const reliable = isReliable(message, incoming) ? this.#reliable(incoming) : undefined;
    const text = responseText(incoming, message, reliable?.nextRseq);
    if (reliable) reliable.send(text, status);
    else if (!server.respond(text, status)) {
      this.#finished(incoming, status);
      session.refuse(app.frameId, "transport for response has been shutdown or closed");
      return;
    }
    if (status >= 200) this.#finished(incoming, status);
    if (method === "INVITE" && status >= 200 && status < 300) this.#answered(incoming, text);
    const echo = session.dialect.responseEcho(text, status, method);
    if (echo === undefined) return;
    session.deliver(this.#core.frames.responseSent(app.frameId, echo, remoteParty(server.flow), incoming.id, dialogId));
  }

  /** A response that makes a dialog (RFC 3261 section 12.1.1), or confirms it. */
  #beginDialog(incoming: IncomingRequest, status: number): void {
    const { dialog, method, server } = incoming;
    if (dialog !== undefined) {
      if (status >= 200) {
        if (method === "INVITE") dialog.data.state = "confirmed";
        refreshTarget(dialog.data, server.request);
      }
      return;
    }
    if (method !== "INVITE" && !(subscribes(method) && status >= 200)) return;
    const { request, localTag, flow } = server;
    const data = uasDialog(request, localTag, status, flow.protocol === "tls");
    data.path = pathOfHidden(request, flow);
    data.listener = hostPort(flow.localAddress, flow.localPort);
    incoming.dialog = this.#core.dialogs.add(data, incoming.owner, method !== "INVITE");
    if (incoming.dialog && method === "INVITE") incoming.dialog.incomingInvite = incoming;
  }

  #dialogIdOf({ dialog, method, request }: IncomingRequest, status: number): string {
    if (dialog) return method === "BYE" && status >= 200 ? "" : dialog.id;
    return method === "INVITE" || subscribes(method) ? `${request.callId};from-tag=${request.fromTag}` : "";
  }

  #reliable(incoming: IncomingRequest): ReliableProvisionals {
    const { clock, timers } = this.#core;
    incoming.reliable ??= new ReliableProvisionals(clock, timers, {
      send: (text, status) => incoming.server.respond(text, status),
      unacknowledged: () => {
        this.tellCancelled(incoming, incoming.request);
        this.reject(incoming, 504);
      },
    });
    return incoming.reliable;
  }

  /** Our 2xx to an INVITE is repeated until its ACK comes; without one the call is over (RFC 3261 section 13.3.1.4). */
  #answered(incoming: IncomingRequest, text: string): void {
    const { dialog, server, id } = incoming;
    if (dialog === undefined) return;
    dialog.ackTxnId = id;
    this.#core.dialogs.answers.wait(dialog.id, server.request.cseq, {
      resend: () => server.respond(text, server.final),
      noAck: () => this.#neverAcknowledged(dialog),
    });
  }

  #neverAcknowledged(dialog: EngineDialog): void {
    const held = dialog.heldBye;
    dialog.heldBye = undefined;
    if (held) held();
    else hangUp(this.#core, dialog, "ACK timeout");
  }

  /** A final response has been given. */
  #finished(incoming: IncomingRequest, status: number): void {
    const { dialog, server } = incoming;
    this.#core.incoming.delete(incoming);
    if (dialog === undefined) return;
    if (dialog.incomingInvite === incoming) dialog.incomingInvite = undefined;
    if (dialog.incomingUpdate === incoming) dialog.incomingUpdate = undefined;
    const failedInvite = status >= 300 && dialog.data.state === "early" && incoming.method === "INVITE";
    const subscriptionEnds = isLastNotify(server.request) || endsSubscription(incoming.method, status);
    if (failedInvite || (dialog.subscription && subscriptionEnds)) this.#core.dialogs.delete(dialog);
  }

  /** An INVITE of ours that came back unchanged: whoever is next would only send it here again. */
  #isLoop({ callId, requestUri }: SipMessage): boolean {
    return isOwnCallId(callId) && this.#core.ownInvites.get(callId) === requestUri;
  }
}

/**
 * What is to begin a dialog must say where its requests are to go (RFC 3261 section 8.1.1.8). Clients of RFC 2543, which have
 * no magic cookie, need not: their From stands for it.
 */
function lacksContact(request: SipMessage): boolean {
  if (request.method !== "INVITE" && !subscribes(request.method)) return false;
  return request.header("contact") === undefined && request.branch.startsWith(magicCookie);
}

/** Answers a request without its application. */
export function refuse(
  server: ServerTransaction,
  status: number,
  lines: readonly [name: string, value: string][] = [],
): void {
  const { request, flow, localTag } = server;
  const writer = responseTo(request, status, { toTag: localTag, topVia: stampVia(request, flow) });
  for (const [name, value] of lines) writer.header(name, value);
  server.respond(writer.body(), status);
}

/** Why this response cannot be sent, "" if it can. */
function unfit(message: SipMessage, incoming: IncomingRequest): string {
  const { status } = message;
  if (status <= 100 || status > 699) return `status ${status} cannot be sent`;
  if (lacksContentType(message)) return "missing content-type";
  if (!isReliable(message, incoming) || offersReliable(incoming.request)) return "";
  return "Remote endpoint does not support 100rel";
}

const offersReliable = (request: SipMessage): boolean =>
  request.headerValues("supported").includes("100rel") || request.headerValues("require").includes("100rel");

function isReliable(message: SipMessage, incoming: IncomingRequest): boolean {
  return message.status < 200 && incoming.method === "INVITE" && message.headerValues("require").includes("100rel");
}

function responseText(incoming: IncomingRequest, message: SipMessage, rseq: number | undefined): string {
  const { server, method } = incoming;
  const { request, flow, localTag } = server;
  const { status } = message;
  const makesDialog = status < 300 && (method === "INVITE" || subscribes(method));
  const secure = flow.protocol === "tls" && isSips(request.requestUri);
  const needsContact = makesDialog || (status < 300 && method === "UPDATE");
  const topVia = stampVia(request, flow);
  const writer = responseTo(request, status, { phrase: message.reasonPhrase, toTag: localTag, topVia });
  if (makesDialog) writer.headers("Record-Route", request.headers("record-route"));
  const given = givenContact(message, flow);
  const contact = needsContact ? (ownContact(incoming.dialog?.data, given) ?? engineContact(flow, secure)) : given;
  if (contact !== undefined) writer.header("Contact", contact);
  if (rseq !== undefined) writer.header("RSeq", rseq);
  eachAppHeader(message, writtenInResponse, flow, (name, value) => writer.header(name, value));
  return writer.body(message.body);
}
