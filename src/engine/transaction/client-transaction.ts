import type { SipMessage } from "../message/sip-message.ts";
import type { Flow } from "../transport/transport.ts";
import { Cancellation, type CancellationTimes, type CancellationUser } from "./cancellation.ts";
import type { TransactionCounters } from "./counters.ts";
import { ackForFailure } from "./derived-requests.ts";
import {
  type InviteClientAction,
  type InviteClientEvent,
  type InviteClientState,
  inviteClientRules,
} from "./invite-client-rules.ts";
import { Machine, type MachineDeps } from "./machine.ts";
import {
  type NonInviteClientAction,
  type NonInviteClientEvent,
  type NonInviteClientState,
  nonInviteClientRules,
} from "./non-invite-client-rules.ts";
import type { ClientTransaction, ClientTransactionUser, OutgoingRequest } from "./users.ts";

/** What a client transaction needs of its layer. */
export interface ClientDeps extends MachineDeps {
  readonly counters: TransactionCounters;
  readonly cancellation: CancellationTimes;
  forget(transaction: ClientMachine): void;
  sendCancel(invite: ClientMachine, headers: string): void;
  stray(response: SipMessage, flow: Flow): void;
}

type State = InviteClientState | NonInviteClientState;
type Event = InviteClientEvent | NonInviteClientEvent;
type Action = InviteClientAction | NonInviteClientAction;

/** A client transaction as its layer sees it: drives the rules for INVITE or for any other method. */
export class ClientMachine extends Machine<State, Event, Action> implements ClientTransaction, CancellationUser {
  readonly method: string;
  readonly branch: string;
  readonly flow: Flow;
  readonly #deps: ClientDeps;
  readonly #user: ClientTransactionUser;
  readonly #cancellation: Cancellation | undefined;
  #text: string;
  #ack = "";
  #unwatch: (() => void) | undefined = undefined;
  #failure: Error | undefined = undefined;
  #response: SipMessage | undefined = undefined;
  #responseFlow: Flow;

  constructor(request: OutgoingRequest, flow: Flow, user: ClientTransactionUser, deps: ClientDeps) {
    const invite = request.method === "INVITE";
    super(invite ? inviteClientRules : nonInviteClientRules, invite ? "A" : "E", deps, flow.reliable);
    this.method = request.method;
    this.branch = request.branch;
    this.flow = flow;
    this.#text = request.text;
    this.#deps = deps;
    this.#user = user;
    this.#responseFlow = flow;
    this.#cancellation = invite ? new Cancellation(deps.clock, deps.cancellation, this) : undefined;
  }

  get text(): string {
    return this.#text;
  }

  start(): void {
    this.#unwatch = this.flow.onFailure((error) => {
      this.#failure = error;
      this.dispatch("transport-error");
    });
    this.begin();
  }

  receive(response: SipMessage, flow: Flow): void {
    const { status } = response;
    this.#response = response;
    this.#responseFlow = flow;
    this.#cancellation?.response(status);
    if (!this.dispatch(status < 200 ? "1xx" : status < 300 ? "2xx" : "3xx-6xx")) this.#deps.counters.strayResponses++;
    this.#response = undefined;
    if (status >= 200) this.#text = "";
  }

  cancel(headers = ""): void {
    this.#cancellation?.cancel(headers);
  }

  sendCancel(headers: string): void {
    this.#deps.sendCancel(this, headers);
  }

  giveUp(): void {
    this.dispatch("give-up");
  }

  protected act(action: Action): void {
    const { counters } = this.#deps;
    switch (action) {
      case "send-request":
        this.flow.send(this.#text);
        break;
      case "resend-request":
        counters.retransmissionsSent++;
        this.flow.send(this.#text);
        break;
      case "send-ack":
        this.#sendAck();
        break;
      case "stop-watching-flow":
        this.#stopWatching();
        break;
      case "note-repetition":
        counters.retransmissionsReceived++;
        break;
      case "pass-up":
        if (this.#response) this.#user.response(this.#response, this.#responseFlow);
        break;
      case "pass-stray":
        if (this.#response) this.#deps.stray(this.#response, this.#responseFlow);
        break;
      case "report-timeout":
        counters.timeouts++;
        this.#user.timeout();
        break;
      case "report-transport-failure":
        counters.transportFailures++;
        this.#user.transportFailure(this.#failure ?? new Error("the transport failed"));
        break;
    }
  }

  protected terminated(): void {
    this.#stopWatching();
    this.#cancellation?.over();
    this.#deps.forget(this);
  }

  #stopWatching(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  /** The first time it is made of the request and the response; again only for a repeated response. */
  #sendAck(): void {
    if (this.#ack === "" && this.#response) this.#ack = ackForFailure(this.#text, this.#response);
    this.flow.send(this.#ack);
  }
}
