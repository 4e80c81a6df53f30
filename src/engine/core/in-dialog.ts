import { randomInt } from "node:crypto";
import { dialogId, takeRequest } from "../dialog/dialog.ts";
import type { SipMessage } from "../message/sip-message.ts";
import type { ServerTransaction } from "../transaction/server-transaction.ts";
import type { Flow } from "../transport/transport.ts";
import type { CoreContext } from "./context.ts";
import type { EngineDialog } from "./engine-dialog.ts";
import { remoteParty } from "./frame-writer.ts";
import { linkId } from "./identifiers.ts";
import { IncomingRequest } from "./incoming-request.ts";
import { pathUri } from "./path-back.ts";
import { refuse, type Uas } from "./uas.ts";

/** Takes requests of the network that belong to a dialog: those whose To has a tag (RFC 3261 section 12.2.2). */
export class InDialog {
  readonly #core: CoreContext;
  readonly #uas: Uas;

  constructor(core: CoreContext, uas: Uas) {
    this.#core = core;
    this.#uas = uas;
  }

  request(server: ServerTransaction): void {
    const { request } = server;
    const dialog = this.#core.dialogs.ofRequest(request) ?? this.#subscription(request);
    if (dialog === undefined || !dialog.owner.here) {
      this.#core.counters.withoutDialog++;
      refuse(server, 481);
      return;
    }
    if (!takeRequest(dialog.data, request)) {
      refuse(server, 500);
      return;
    }
    // The NAT before the peer has given it another port.
    if (dialog.data.path !== "") dialog.data.path = pathUri(server.flow);
    switch (request.method) {
      case "INVITE":
        this.#invite(server, dialog);
        return;
      case "UPDATE":
        this.#update(server, dialog);
        return;
      case "PRACK":
        this.#prack(server, dialog);
        return;
      case "BYE":
        this.#bye(server, dialog);
        return;
      default:
        this.#deliver(server, dialog);
    }
  }

  /** The ACK to a 2xx of ours. */
  ack(request: SipMessage, flow: Flow): void {
    const { dialogs, frames } = this.#core;
    const dialog = dialogs.ofRequest(request);
    // Anything else is a repetition, or acknowledges nothing.
    if (dialog === undefined || !dialogs.answers.acknowledge(dialog.id, request.cseq)) return;
    const text = dialog.owner.dialect.show(request);
    dialog.owner.deliver(frames.inDialog(text, remoteParty(flow), dialog.ackTxnId || linkId(), dialog.id));
    const held = dialog.heldBye;
    dialog.heldBye = undefined;
    held?.();
  }

  /** The dialog that a NOTIFY begins because it overtook the answer to our SUBSCRIBE. */
  #subscription(request: SipMessage): EngineDialog | undefined {
    if (request.method !== "NOTIFY") return undefined;
    return this.#core.subscribing.get(dialogId(request.callId, request.toTag))?.notified(request);
  }

  #invite(server: ServerTransaction, dialog: EngineDialog): void {
    // RFC 3261 section 14.2: ours is under way (491), or theirs is (500 and a pause).
    if (dialog.outgoingInvite !== undefined || this.#core.dialogs.answers.has(dialog.id)) {
      refuse(server, 491);
      return;
    }
    if (dialog.incomingInvite !== undefined) {
      refuse(server, 500, [["Retry-After", String(randomInt(0, 11))]]);
      return;
    }
    dialog.incomingInvite = this.#deliver(server, dialog);
  }

  #update(server: ServerTransaction, dialog: EngineDialog): void {
    // RFC 3311 section 5.2: one at a time.
    if (dialog.incomingUpdate !== undefined) {
      refuse(server, 500, [["Retry-After", String(randomInt(0, 11))]]);
      return;
    }
    dialog.incomingUpdate = this.#deliver(server, dialog);
  }

  #prack(server: ServerTransaction, dialog: EngineDialog): void {
    const invite = dialog.incomingInvite;
    const rack = server.request.header("rack") ?? "";
    // RFC 3262 section 3: a PRACK that matches no unacknowledged response.
    if (!invite?.reliable?.acknowledge(rack, invite.request.cseq)) {
      refuse(server, 481);
      return;
    }
    this.#deliver(server, dialog);
  }

  #bye(server: ServerTransaction, dialog: EngineDialog): void {
    const { incomingInvite } = dialog;
    if (dialog.data.state === "early" && incomingInvite !== undefined) {
      // The caller gives the call up by BYE instead of CANCEL (RFC 3261 section 15.1.2): it is the same to the application.
      refuse(server, 200);
      this.#uas.tellCancelled(incomingInvite, server.request);
      this.#uas.reject(incomingInvite, 487);
      return;
    }
    if (incomingInvite !== undefined) this.#uas.reject(incomingInvite, 487);
    this.#core.dialogs.delete(dialog);
    this.#deliver(server, dialog);
  }

  #deliver(server: ServerTransaction, dialog: EngineDialog): IncomingRequest {
    const { owner } = dialog;
    const incoming = new IncomingRequest(server, owner, dialog);
    this.#uas.expectAnswer(incoming);
    const { frames } = this.#core;
    const text = owner.dialect.showRequest(server.request, incoming.id);
    const frame = frames.inDialog(text, remoteParty(server.flow), incoming.id, dialog.id);
    // Promises of an application with Dialog objects must see the dialog before anything in it.
    owner.deliver(frame, !owner.link.packed);
    return incoming;
  }
}
