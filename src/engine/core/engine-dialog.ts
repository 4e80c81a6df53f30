import type { Clock } from "../../clock.ts";
import type { Dialog } from "../dialog/dialog.ts";
import { DialogStore } from "../dialog/dialog-store.ts";
import { UnacknowledgedAnswers } from "../dialog/unacknowledged-answers.ts";
import type { SipMessage } from "../message/sip-message.ts";
import type { TimerValues } from "../transaction/timers.ts";
import type { AppSession } from "./app-session.ts";
import type { IncomingRequest } from "./incoming-request.ts";
import type { OutgoingInvite } from "./outgoing-invite.ts";

/** A dialog and what is going on in it. Only `data` outlives the transactions under way. */
export class EngineDialog {
  readonly data: Dialog;
  /** Who is told of requests in it. */
  readonly owner: AppSession;
  /** The peer's INVITE that the application has not answered finally. */
  incomingInvite: IncomingRequest | undefined = undefined;
  /** The peer's UPDATE that the application has not answered. */
  incomingUpdate: IncomingRequest | undefined = undefined;
  /** Our INVITE without final response, or whose 2xx the application has not acknowledged. */
  outgoingInvite: OutgoingInvite | undefined = undefined;
  /** What the ACK to our latest 2xx is told to the application under. */
  ackTxnId = "";
  /** A BYE that waits for the peer's ACK (RFC 3261 section 15). */
  heldBye: (() => void) | undefined = undefined;

  /** `subscription`: begun by SUBSCRIBE or REFER, and over with the last NOTIFY. */
  constructor(
    data: Dialog,
    owner: AppSession,
    readonly subscription: boolean,
  ) {
    this.data = data;
    this.owner = owner;
  }

  get id(): string {
    return this.data.id;
  }
}

/** The dialogs of the engine, and the 2xx responses in them that wait for an ACK. */
export class EngineDialogs {
  readonly answers: UnacknowledgedAnswers;
  readonly #store = new DialogStore();
  readonly #byData = new Map<Dialog, EngineDialog>();

  constructor(clock: Clock, timers: TimerValues) {
    this.answers = new UnacknowledgedAnswers(clock, timers);
  }

  get size(): number {
    return this.#byData.size;
  }

  [Symbol.iterator](): Iterator<EngineDialog> {
    return this.#byData.values();
  }

  /** Keeps a new dialog; undefined when the same tags are in use already. */
  add(data: Dialog, owner: AppSession, subscription = false): EngineDialog | undefined {
    if (!this.#store.add(data)) return undefined;
    const dialog = new EngineDialog(data, owner, subscription);
    this.#byData.set(data, dialog);
    return dialog;
  }

  get(id: string): EngineDialog | undefined {
    return this.#of(this.#store.get(id));
  }

  ofRequest(request: SipMessage): EngineDialog | undefined {
    return this.#of(this.#store.ofRequest(request));
  }

  ofResponse(response: SipMessage): EngineDialog | undefined {
    return this.#of(this.#store.ofResponse(response));
  }

  has(dialog: EngineDialog): boolean {
    return this.#byData.has(dialog.data);
  }

  delete(dialog: EngineDialog): void {
    this.answers.forget(dialog.id);
    this.#store.delete(dialog.data);
    this.#byData.delete(dialog.data);
  }

  #of(data: Dialog | undefined): EngineDialog | undefined {
    return data && this.#byData.get(data);
  }
}
