import type {
  Exchange,
  ExchangeUser,
  Headers,
  IncomingRequest,
  IncomingResponse,
  Message,
  Outcome,
  Reply,
} from "../signalling/port.ts";
import type { PassedKind } from "./header-rules.ts";
import { relayedAck, relayedRequestHeaders } from "./headers.ts";
import type { LocalReplies } from "./local-responses.ts";
import type { Side } from "./record.ts";
import { replyTo } from "./relay.ts";

/** A request within a dialog: where it goes is the dialog's affair. */
export interface InDialogRequest extends Message {
  readonly method: string;
}

/** What a re-INVITE needs of its call. */
export interface InviteHost {
  readonly replies: LocalReplies;
  /** Header rules, for a message that passes from that side to the other. */
  pass(from: Side, headers: Record<string, string>, kind: PassedKind): void;
  send(to: Side, request: InDialogRequest, user: ExchangeUser): Exchange;
  /** A 2xx to it has passed, with these fields. */
  refreshed(answer: Headers): void;
  /** It is over, its ACK included: the next one may come. `status` is the final response that was passed back. */
  inviteOver(invite: RelayedInvite, status: number): void;
}

/** A re-INVITE passed from one leg to the other, until its ACK. */
export class RelayedInvite implements ExchangeUser {
  readonly from: Side;
  readonly #host: InviteHost;
  readonly #request: IncomingRequest;
  #exchange: Exchange | undefined;
  /** The other leg's 2xx that waits for the answer in this leg's ACK. */
  #unacknowledged: IncomingResponse | undefined;
  /** Whoever asked has its final response. */
  #answered = false;

  constructor(host: InviteHost, from: Side, request: IncomingRequest) {
    this.#host = host;
    this.from = from;
    this.#request = request;
    request.onCancel = (cancel) => this.#cancel(cancel);
  }

  /** Only the ACK is missing. */
  get answered(): boolean {
    return this.#answered;
  }

  send(to: Side): void {
    const headers = relayedRequestHeaders(this.#request.headers);
    this.#host.pass(this.from, headers, "requests");
    const { body } = this.#request;
    this.#exchange = this.#host.send(to, { method: "INVITE", headers, body }, this);
  }

  provisional(response: IncomingResponse): void {
    if (response.status > 100 && !this.#answered) this.#request.respond(this.#replyTo({ kind: "response", response }));
  }

  final(outcome: Outcome): void {
    const response = outcome.kind === "response" && outcome.response.status < 300 ? outcome.response : undefined;
    const awaitsAnswer = response !== undefined && this.#request.body === "" && response.body !== "";
    if (this.#answered || !awaitsAnswer) response?.ack();
    if (this.#answered) return;
    this.#answered = true;
    const reply = this.#replyTo(outcome);
    if (!response) {
      this.#request.respond(reply);
      this.#host.inviteOver(this, reply.status);
      return;
    }
    this.#host.refreshed(reply.headers);
    if (awaitsAnswer) this.#unacknowledged = response;
    this.#request.respond(reply, (refused) => {
      if (refused !== undefined) this.acknowledged();
    });
  }

  /** The ACK to the 2xx that was passed back; also the end of waiting for it. */
  acknowledged(ack?: Message): void {
    this.#unacknowledged?.ack(ack && relayedAck(ack));
    this.#unacknowledged = undefined;
    this.#host.inviteOver(this, 200);
  }

  /** The call ends: whoever asked is told so (RFC 3261 section 15.1.2), whoever was asked need not answer. */
  abandon(): void {
    this.#unacknowledged?.ack();
    this.#unacknowledged = undefined;
    if (this.#answered) return;
    this.#answered = true;
    this.#request.respond(this.#host.replies.for("terminated"));
    this.#exchange?.cancel();
  }

  #replyTo(outcome: Outcome): Reply {
    const treat = (headers: Record<string, string>): void => {
      this.#host.pass(this.from === "caller" ? "agent" : "caller", headers, "responses");
    };
    return replyTo(outcome, { replies: this.#host.replies, treat });
  }

  #cancel(cancel: Headers): void {
    if (this.#answered) return;
    this.#answered = true;
    this.#exchange?.cancel(cancel.reason === undefined ? {} : { reason: cancel.reason });
    this.#host.inviteOver(this, 487);
  }
}
