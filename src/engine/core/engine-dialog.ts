import type { Clock, Timer } from "../../clock.ts";
import type { Dialog } from "../dialog/dialog.ts";
import { DialogStore } from "../dialog/dialog-store.ts";
import { UnacknowledgedAnswers } from "../dialog/unacknowledged-answers.ts";
import type { SipMessage } from "../message/sip-message.ts";
import { parseNatural } from "../message/uri.ts";
import { patience, type TimerValues } from "../transaction/timers.ts";
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
  /** The end of a subscription that nobody refreshes or ends. */
  expiry: Timer | undefined = undefined;

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
  readonly #clock: Clock;
  readonly #timers: TimerValues;
  readonly #store = new DialogStore<EngineDialog>();

  constructor(clock: Clock, timers: TimerValues) {
    this.#clock = clock;
    this.#timers = timers;
    this.answers = new UnacknowledgedAnswers(clock, timers);
  }

  get size(): number {
    return this.#store.size;
  }

  [Symbol.iterator](): Iterator<EngineDialog> {
    return this.#store[Symbol.iterator]();
  }

  /** Keeps a new dialog; undefined when the same tags are in use already. */
  add(data: Dialog, owner: AppSession, subscription = false): EngineDialog | undefined {
    const dialog = new EngineDialog(data, owner, subscription);
    return this.#store.add(dialog) ? dialog : undefined;
  }

  get(id: string): EngineDialog | undefined {
    return this.#store.get(id);
  }

  ofRequest(request: SipMessage): EngineDialog | undefined {
    return this.#store.ofRequest(request);
  }

  ofResponse(response: SipMessage): EngineDialog | undefined {
    return this.#store.ofResponse(response);
  }

  has(dialog: EngineDialog): boolean {
    return this.#store.has(dialog);
  }

  /**
   * A subscription has been granted or refreshed by the 2xx `response` to `request`: once its time is over it is forgotten,
   * even if the last NOTIFY never comes (RFC 6665 section 4.4.1). One that is over already stays so.
   */
  subscribed(dialog: EngineDialog, request: SipMessage | undefined, response: SipMessage): void {
    if (!dialog.subscription || !this.has(dialog)) return;
    // RFC 4488: a REFER may be granted without one.
    if (response.header("refer-sub")?.trim().toLowerCase() === "false") {
      this.delete(dialog);
      return;
    }
    const seconds = expires(response) ?? (request && expires(request)) ?? defaultExpiry;
    dialog.expiry?.cancel();
    dialog.expiry = this.#clock.after(seconds * 1_000 + patience(this.#timers), () => this.delete(dialog));
  }

  delete(dialog: EngineDialog): void {
    dialog.expiry?.cancel();
    this.answers.forget(dialog.id);
    this.#store.delete(dialog);
  }
}

/** Seconds a subscription lasts when neither side says: the longest default in use (RFC 3856 section 6.4). */
const defaultExpiry = 3_600;
/** Seconds. Whoever asks for more will refresh in time. */
const longestExpiry = 86_400;

function expires(message: SipMessage): number | undefined {
  const value = message.header("expires");
  if (value === undefined) return undefined;
  const seconds = parseNatural(value, 2 ** 32);
  return seconds < 0 ? undefined : Math.min(seconds, longestExpiry);
}
