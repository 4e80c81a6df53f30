import type { Exchange, ExchangeUser, Headers, IncomingAck, IncomingRequest } from "../signalling/port.ts";
import { type CallLegs, otherSide } from "./call-legs.ts";
import type { PassedKind } from "./header-rules.ts";
import { relayedRequestHeaders } from "./headers.ts";
import type { LocalReplies } from "./local-responses.ts";
import type { Side } from "./record.ts";
import { RelayedRequest } from "./relay.ts";
import { type InDialogRequest, type InviteHost, RelayedInvite } from "./relayed-invite.ts";

/** What the relay needs of its call. */
export interface RelayHost {
  readonly replies: LocalReplies;
  /** The first INVITE is acknowledged on both legs. */
  readonly confirmed: boolean;
  /** A peer knows its dialog no more, or says nothing. */
  dialogGone(): void;
  /** A 2xx to a request that refreshes the session has passed, with these fields (RFC 4028). */
  refreshed(answer: Headers): void;
}

/** Passes requests within a call's dialogs from one leg to the other, and their responses back. */
export class DialogRelay implements InviteHost {
  readonly #host: RelayHost;
  readonly #legs: CallLegs;
  #invite: RelayedInvite | undefined;
  /** Waits until the INVITE before it is acknowledged (RFC 3261 section 14.1). */
  #waiting: RelayedInvite | undefined;

  constructor(host: RelayHost, legs: CallLegs) {
    this.#host = host;
    this.#legs = legs;
  }

  get replies(): LocalReplies {
    return this.#host.replies;
  }

  send(to: Side, request: InDialogRequest, user: ExchangeUser): Exchange {
    return this.#legs.send(to, request, user);
  }

  /** Any request but BYE, and but a PRACK before the answer. */
  request(side: Side, request: IncomingRequest): void {
    if (this.#legs.dialogOf(otherSide(side)) === "") request.respond(this.replies.for("no-dialog"));
    else if (request.method === "INVITE") this.#relayInvite(side, request);
    else this.#relay(side, request);
  }

  /** False when no re-INVITE of that side waits for an ACK. */
  ack(side: Side, ack: IncomingAck): boolean {
    if (this.#invite?.from !== side) return false;
    this.#invite.acknowledged(ack);
    return true;
  }

  /** An INVITE was acknowledged: the one that waits may go. */
  proceed(): void {
    if (!this.#waiting || this.#invite || !this.#host.confirmed) return;
    this.#invite = this.#waiting;
    this.#waiting = undefined;
    this.#invite.send(otherSide(this.#invite.from));
  }

  pass(from: Side, headers: Record<string, string>, kind: PassedKind): void {
    this.#legs.pass(from, headers, kind);
  }

  refreshed(answer: Headers): void {
    this.#host.refreshed(answer);
  }

  abandon(): void {
    this.#invite?.abandon();
    this.#waiting?.abandon();
    this.#invite = undefined;
    this.#waiting = undefined;
  }

  inviteOver(invite: RelayedInvite, status: number): void {
    if (this.#waiting === invite) this.#waiting = undefined;
    if (this.#invite === invite) this.#invite = undefined;
    this.#checkDialog("INVITE", status);
    this.proceed();
  }

  #relay(side: Side, request: IncomingRequest): void {
    const { method, body } = request;
    const to = otherSide(side);
    const headers = relayedRequestHeaders(request.headers);
    this.pass(side, headers, "requests");
    const treat = (reply: Record<string, string>): void => this.pass(to, reply, "responses");
    const parts = { replies: this.replies, treat };
    const user = new RelayedRequest(request, parts, ({ status, headers: answer }) => {
      if (method === "UPDATE" && status < 300) this.refreshed(answer);
      this.#checkDialog(method, status);
    });
    this.send(to, { method, headers, body }, user);
  }

  #relayInvite(side: Side, request: IncomingRequest): void {
    const current = this.#invite;
    if (current?.from === side) request.respond(this.replies.for("overlapping"));
    // Glare (RFC 3261 section 14.2).
    else if (this.#waiting || current?.answered === false) request.respond(this.replies.for("request-pending"));
    else {
      // The other side's ACK may still be on its way here: sent before this request, and overtaken by it.
      this.#waiting = new RelayedInvite(this, side, request);
      this.proceed();
    }
  }

  /** A peer that knows the dialog no more, or says nothing, has ended it (RFC 3261 section 12.2.1.2). */
  #checkDialog(method: string, status: number): void {
    if (!isGone(status)) return;
    // 481 to these speaks of a subscription or of a provisional response, not of the call (RFC 5057 section 5.1).
    if (method !== "NOTIFY" && method !== "SUBSCRIBE" && method !== "PRACK") this.#host.dialogGone();
  }
}

/** Whether a final response to a request within a dialog says that the peer has none (RFC 3261 section 12.2.1.2). */
export const isGone = (status: number): boolean => status === 481 || status === 408;
