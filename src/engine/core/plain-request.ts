import { confirm, type Dialog, ownContact, refreshTarget, uacDialog, uasDialog } from "../dialog/dialog.ts";
import type { SipMessage } from "../message/sip-message.ts";
import type { AppSession } from "./app-session.ts";
import type { CoreContext } from "./context.ts";
import type { EngineDialog } from "./engine-dialog.ts";
import { maxForks, OutgoingRequest, type RequestSent } from "./outgoing-request.ts";

/** Methods that begin a dialog besides INVITE: the subscription of RFC 6665, explicit or implied by REFER (RFC 3515). */
export const subscribes = (method: string): boolean => method === "SUBSCRIBE" || method === "REFER";

const none: readonly EngineDialog[] = [];

/** A request other than INVITE outside any dialog. */
export class PlainRequest extends OutgoingRequest {
  readonly #sent: RequestSent & { readonly cseq: number };
  /** What NOTIFYs began that overtook the response: more than one where the request was forked. */
  #early: readonly EngineDialog[] = none;

  constructor(
    core: CoreContext,
    owner: AppSession,
    method: string,
    dialogId: string,
    sent: RequestSent & { readonly cseq: number },
  ) {
    super(core, owner, method, dialogId);
    this.#sent = sent;
    if (subscribes(method)) core.subscribing.set(dialogId, this);
  }

  /** The first NOTIFY of the subscription, which may come before the response (RFC 6665 section 4.1.2.4), begins the dialog. */
  notified(notify: SipMessage): EngineDialog | undefined {
    if (this.#early.length === maxForks) return undefined;
    const data: Dialog = {
      ...uasDialog(notify, notify.toTag, 200),
      id: this.dialogId,
      role: "uac",
      localSeq: this.#sent.cseq,
      // The engine's own tag makes it a dialog of ours, so no request in it came before this one.
      remoteSeq: -1,
    };
    const dialog = this.#add(data);
    if (dialog) this.#early = [...this.#early, dialog];
    return dialog;
  }

  protected override end(): void {
    super.end();
    if (this.core.subscribing.get(this.dialogId) === this) this.core.subscribing.delete(this.dialogId);
  }

  protected take(response: SipMessage): boolean {
    const { status } = response;
    if (status === 100) return false;
    if (status >= 300) this.failed();
    else if (status >= 200 && subscribes(this.method) && response.toTag !== "") this.#subscribed(response);
    return true;
  }

  protected failed(): void {
    for (const dialog of this.#early) this.core.dialogs.delete(dialog);
  }

  #subscribed(response: SipMessage): void {
    const { dialogs } = this.core;
    const early = this.#early.find(({ data }) => data.remoteTag === response.toTag);
    if (early) confirm(early.data, response);
    const dialog = early ?? this.#add(uacDialog(response, this.#sent.requestUri));
    for (const each of this.#early) dialogs.subscribed(each, undefined, response);
    if (dialog === undefined) return;
    this.dialogId = dialog.id;
    if (!early) dialogs.subscribed(dialog, undefined, response);
  }

  #add(dialog: Dialog): EngineDialog | undefined {
    const { path, listener, contact } = this.#sent;
    Object.assign(dialog, { path, listener });
    ownContact(dialog, contact);
    return this.core.dialogs.add(dialog, this.owner, true);
  }
}

/** A request other than INVITE and ACK within a dialog. */
export class InDialogOutgoing extends OutgoingRequest {
  readonly #dialog: EngineDialog;
  readonly #isLastNotify: boolean;

  constructor(core: CoreContext, owner: AppSession, dialog: EngineDialog, message: SipMessage) {
    super(core, owner, message.method, dialog.id);
    this.#dialog = dialog;
    this.#isLastNotify = isLastNotify(message);
  }

  protected take(response: SipMessage): boolean {
    const { status } = response;
    if (status === 100) return false;
    if (status >= 200) {
      refreshTarget(this.#dialog.data, response);
      if (status < 300 && this.method === "SUBSCRIBE") this.core.dialogs.subscribed(this.#dialog, undefined, response);
      // A BYE that is challenged will be sent again, so its dialog must still be there.
      if (status !== 401 && status !== 407) this.#mayEndDialog(status);
    }
    return true;
  }

  protected failed(status: number): void {
    this.#mayEndDialog(status);
  }

  #mayEndDialog(status: number): void {
    const subscriptionEnds = this.#isLastNotify || endsSubscription(this.method, status);
    if (this.method === "BYE" || (this.#dialog.subscription && subscriptionEnds))
      this.core.dialogs.delete(this.#dialog);
  }
}

/** Whether this is the last NOTIFY of a subscription (RFC 6665 section 4.4.1). */
export const isLastNotify = (request: SipMessage): boolean =>
  request.method === "NOTIFY" && (request.header("subscription-state") ?? "").toLowerCase().startsWith("terminated");

/** Whether an answer ends a subscription: whoever gives it knows it no more, or nobody does (RFC 5057 section 5.1). */
export const endsSubscription = (method: string, status: number): boolean =>
  (method === "NOTIFY" || method === "SUBSCRIBE") && (status === 481 || status === 408);
