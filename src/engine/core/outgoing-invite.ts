import type { Timer } from "../../clock.ts";
import { confirm, type Dialog, ownContact, refreshTarget, uacDialog } from "../dialog/dialog.ts";
import { SentAcks } from "../dialog/sent-acks.ts";
import type { SipMessage } from "../message/sip-message.ts";
import { parseNatural } from "../message/uri.ts";
import { patience } from "../transaction/timers.ts";
import type { Flow } from "../transport/transport.ts";
import type { AppSession } from "./app-session.ts";
import type { CoreContext } from "./context.ts";
import type { EngineDialog } from "./engine-dialog.ts";
import { acknowledgeAndHangUp, hangUp } from "./hang-up.ts";
import { ownRequest, type ReadyRequest, wayInDialog } from "./in-dialog-text.ts";
import { maxForks, OutgoingRequest, type RequestSent } from "./outgoing-request.ts";

/**
 * An INVITE of an application, new or within a dialog, until its 2xx is acknowledged and no fork can answer any more (RFC 3261
 * section 13.2.2.4).
 */
export abstract class OutgoingInvite extends OutgoingRequest {
  protected readonly acks = new SentAcks();
  #answeredBy: string | undefined = undefined;
  protected cancelled = false;
  /** RSeq of the last reliable provisional response, by To tag. */
  #lastRseq: Map<string, number> | undefined = undefined;
  #deadline: Timer | undefined = undefined;

  override cancel(headers = ""): boolean {
    const cancelled = super.cancel(headers);
    this.cancelled ||= cancelled;
    return cancelled;
  }

  /** The application acknowledges the 2xx: `ack` goes out, and again for each repetition of the 2xx. */
  acknowledge(dialog: EngineDialog, ack: ReadyRequest, flow: Flow): void {
    this.#deadline?.cancel();
    if (dialog.outgoingInvite === this) dialog.outgoingInvite = undefined;
    this.acks.send(this.#answeredBy ?? dialog.data.remoteTag, ack.text, flow);
  }

  protected take(response: SipMessage): boolean {
    const { status } = response;
    if (status === 100) return this.owner.link.reportTrying;
    if (status < 200) return this.#isNext(response) && this.progress(response);
    if (status < 300) return this.#success(response);
    this.failed(status);
    return true;
  }

  /** A provisional response other than 100. */
  protected abstract progress(response: SipMessage): boolean;

  /** The first 2xx: the dialog it confirms, undefined when there is no place for it. */
  protected abstract answered(response: SipMessage): EngineDialog | undefined;

  /**
   * False for a reliable provisional response that is repeated or out of order: it is neither acknowledged nor processed
   * (RFC 3262 section 4).
   */
  #isNext(response: SipMessage): boolean {
    const rseq = parseNatural(response.header("rseq") ?? "", 0xffff_ffff);
    if (rseq < 0) return true;
    this.#lastRseq ??= new Map();
    const last = this.#lastRseq.get(response.toTag);
    if (last !== undefined && rseq !== last + 1) return false;
    this.#lastRseq.set(response.toTag, rseq);
    return true;
  }

  #success(response: SipMessage): boolean {
    if (this.acks.repeat(response) || this.#answeredBy === response.toTag) return false;
    const dialog = this.#answeredBy === undefined ? this.answered(response) : undefined;
    if (dialog === undefined) {
      acknowledgeAndHangUp(this.core, uacDialog(response, ""), this.acks, "Another fork has answered");
      return false;
    }
    this.#answeredBy = dialog.data.remoteTag;
    this.dialogId = dialog.id;
    dialog.outgoingInvite = this;
    if (this.owner.here) {
      this.#deadline = this.core.clock.after(patience(this.core.timers), () => this.#abandon(dialog));
      return true;
    }
    this.#abandon(dialog);
    return false;
  }

  /** The application will not acknowledge the 2xx, so the engine does, and ends the call. */
  #abandon(dialog: EngineDialog): void {
    wayInDialog(this.core.way, dialog.data, (flow) => {
      if (typeof flow !== "string") this.acknowledge(dialog, ownRequest(dialog.data, flow, "ACK"), flow);
      hangUp(this.core, dialog, "Not acknowledged by the application");
    });
  }
}

/** An INVITE outside any dialog. */
export class NewInvite extends OutgoingInvite {
  readonly #sent: RequestSent & { readonly callId: string };
  /** The early dialogs of its forks; rarely more than one. */
  #early: EngineDialog[] = [];

  constructor(core: CoreContext, owner: AppSession, dialogId: string, sent: RequestSent & { readonly callId: string }) {
    super(core, owner, "INVITE", dialogId);
    this.#sent = sent;
  }

  /** A call that was given up before its 2xx came is over; one whose re-INVITE was is not. */
  override acknowledge(dialog: EngineDialog, ack: ReadyRequest, flow: Flow): void {
    super.acknowledge(dialog, ack, flow);
    if (this.cancelled) hangUp(this.core, dialog, "ACK-BYE due to cancel race condition");
  }

  protected progress(response: SipMessage): boolean {
    if (response.toTag === "" || this.over) return true;
    const known = this.#earlyOf(response);
    if (known === undefined && this.#early.length >= maxForks) return true;
    const dialog = known ?? this.#add(response);
    if (dialog === undefined) return true;
    // A later provisional may be the first one with a Contact.
    if (known !== undefined) refreshEarlyTarget(known.data, response, this.#sent.requestUri);
    else this.#early.push(dialog);
    dialog.outgoingInvite = this;
    this.dialogId = dialog.id;
    return true;
  }

  protected answered(response: SipMessage): EngineDialog | undefined {
    const early = this.#earlyOf(response);
    this.#early = this.#early.filter((dialog) => dialog !== early);
    this.#dropEarly();
    if (early === undefined || !this.core.dialogs.has(early)) return this.#add(response);
    confirm(early.data, response);
    return early;
  }

  protected failed(): void {
    this.#dropEarly();
  }

  protected override end(): void {
    super.end();
    this.core.ownInvites.delete(this.#sent.callId);
  }

  #add(response: SipMessage): EngineDialog | undefined {
    const { requestUri, path, listener, contact } = this.#sent;
    const dialog = uacDialog(response, requestUri);
    Object.assign(dialog, { path, listener });
    ownContact(dialog, contact);
    return this.core.dialogs.add(dialog, this.owner);
  }

  #earlyOf({ toTag }: SipMessage): EngineDialog | undefined {
    return this.#early.find(({ data }) => data.remoteTag === toTag);
  }

  #dropEarly(): void {
    for (const dialog of this.#early) this.core.dialogs.delete(dialog);
    this.#early = [];
  }
}

/** RFC 3261 section 12.1.2 takes the target of an early dialog from its first response; one without Contact has none to give. */
function refreshEarlyTarget(dialog: Dialog, response: SipMessage, requestUri: string): void {
  if (dialog.remoteTarget === requestUri) dialog.remoteTarget = uacDialog(response, requestUri).remoteTarget;
}

/** An INVITE within a dialog. */
export class ReInvite extends OutgoingInvite {
  readonly #dialog: EngineDialog;

  constructor(core: CoreContext, owner: AppSession, dialog: EngineDialog) {
    super(core, owner, "INVITE", dialog.id);
    this.#dialog = dialog;
    dialog.outgoingInvite = this;
  }

  protected progress(): boolean {
    return true;
  }

  protected answered(response: SipMessage): EngineDialog | undefined {
    refreshTarget(this.#dialog.data, response);
    return this.#dialog;
  }

  protected failed(): void {
    if (this.#dialog.outgoingInvite === this) this.#dialog.outgoingInvite = undefined;
  }
}
