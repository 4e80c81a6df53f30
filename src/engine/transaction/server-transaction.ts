import { ownText } from "../../own-text.ts";
import type { SipMessage } from "../message/sip-message.ts";
import type { Flow } from "../transport/transport.ts";
import type { TransactionCounters } from "./counters.ts";
import {
  type InviteServerAction,
  type InviteServerEvent,
  type InviteServerState,
  inviteServerRules,
} from "./invite-server-rules.ts";
import { Machine, type MachineDeps } from "./machine.ts";
import {
  type NonInviteServerAction,
  type NonInviteServerEvent,
  type NonInviteServerState,
  nonInviteServerRules,
} from "./non-invite-server-rules.ts";
import { newTag } from "./tags.ts";

/** What a server transaction needs of its layer. */
export interface ServerDeps extends MachineDeps {
  readonly counters: TransactionCounters;
  forget(transaction: ServerMachine): void;
  passAck(ack: SipMessage, flow: Flow): void;
}

/** A request from the network, to be answered once. */
export class ServerTransaction {
  readonly request: SipMessage;
  /** Where the request came from. */
  readonly flow: Flow;
  /** The way the request's connection failed, if it did before the final response. */
  transportError: Error | undefined = undefined;
  /** Called at that failure. An INVITE may still be answered, in case the peer comes back; nothing else can be. */
  onTransportFailure: ((error: Error) => void) | undefined = undefined;
  readonly #machine: ServerMachine;

  constructor(request: SipMessage, flow: Flow, machine: ServerMachine) {
    this.request = request;
    this.flow = flow;
    this.#machine = machine;
  }

  /** The tag of ours for To: the request's own inside a dialog, else a fresh one, unless set before the first response. */
  get localTag(): string {
    this.#machine.localTag ||= ownText(this.request.toTag) || newTag();
    return this.#machine.localTag;
  }

  set localTag(tag: string) {
    this.#machine.localTag = ownText(tag);
  }

  /** The final status given, 0 before. */
  get final(): number {
    return this.#machine.final;
  }

  /**
   * Sends a response, whole as it goes on the wire. After a 2xx to INVITE the same may be sent again (RFC 3261 section
   * 13.3.1.4); anything else after a final response, and everything after the end, is not sent: false.
   */
  respond(text: string, status: number): boolean {
    return this.#machine.respond(text, status);
  }
}

type State = InviteServerState | NonInviteServerState;
type Event = InviteServerEvent | NonInviteServerEvent;
type Action = InviteServerAction | NonInviteServerAction;

/**
 * A server transaction as its layer sees it: drives the rules for INVITE or for any other method. It outlives the final
 * response by 32 s, hundred-thousandfold under load, so it then keeps no more than it can still send.
 */
export class ServerMachine extends Machine<State, Event, Action> {
  key = "";
  /** "" for a request that cannot be merged. */
  mergeKey = "";
  /** The address the request came from. */
  source = "";
  localTag = "";
  final = 0;
  readonly #deps: ServerDeps;
  readonly #flow: Flow;
  #transaction: ServerTransaction | undefined = undefined;
  #lastResponse = "";
  #unwatch: (() => void) | undefined = undefined;
  #failure: Error | undefined = undefined;
  #ack: SipMessage | undefined = undefined;

  constructor(method: string, responseFlow: Flow, deps: ServerDeps) {
    super(method === "INVITE" ? inviteServerRules : nonInviteServerRules, "G", deps, responseFlow.reliable);
    this.#deps = deps;
    this.#flow = responseFlow;
  }

  /** Until the final response; undefined from then on. */
  get transaction(): ServerTransaction | undefined {
    return this.#transaction;
  }

  get lastResponse(): string {
    return this.#lastResponse;
  }

  /** `flow`: where the request came from. */
  start(request: SipMessage, flow: Flow): ServerTransaction {
    const transaction = new ServerTransaction(request, flow, this);
    this.#transaction = transaction;
    this.source = flow.remoteAddress;
    this.begin();
    // A datagram has no connection to lose, and what an ICMP error says of a response changes nothing.
    if (this.#flow.reliable) {
      this.#unwatch = this.#flow.onFailure((error) => {
        this.#failure = error;
        this.dispatch("transport-error");
      });
    }
    return transaction;
  }

  /** The request again. */
  repeated(): void {
    this.#deps.counters.retransmissionsReceived++;
    this.dispatch("request");
  }

  acknowledged(ack: SipMessage): void {
    this.#ack = ack;
    this.dispatch("ack");
    this.#ack = undefined;
  }

  respond(text: string, status: number): boolean {
    const before = this.#lastResponse;
    this.#lastResponse = text;
    const sent = this.dispatch(status < 200 ? "1xx" : status < 300 ? "2xx" : "3xx-6xx");
    if (!sent) this.#lastResponse = before;
    else if (status >= 200) this.#finish(status);
    return sent;
  }

  protected act(action: Action): void {
    switch (action) {
      case "send-response":
        this.#flow.send(this.#lastResponse);
        break;
      case "resend-response":
        this.#deps.counters.retransmissionsSent++;
        this.#flow.send(this.#lastResponse);
        break;
      case "pass-ack-up":
        if (this.#ack) this.#deps.passAck(this.#ack, this.#flow);
        break;
      case "report-no-ack":
        this.#deps.counters.missingAcks++;
        break;
      case "report-transport-failure":
        this.#reportFailure(this.#failure ?? new Error("the transport failed"));
        break;
    }
  }

  protected terminated(): void {
    this.#stopWatching();
    this.#deps.forget(this);
  }

  #stopWatching(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  #reportFailure(error: Error): void {
    this.#deps.counters.transportFailures++;
    const transaction = this.#transaction;
    if (!transaction) return;
    transaction.transportError = error;
    transaction.onTransportFailure?.(error);
  }

  #finish(status: number): void {
    this.final = status;
    this.#transaction = undefined;
    // The user repeats its 2xx by itself.
    if (this.state === "accepted") this.#lastResponse = "";
  }
}
