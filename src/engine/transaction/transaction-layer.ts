import type { Clock, Ms } from "../../clock.ts";
import { parseMessage, SipMessage } from "../message/sip-message.ts";
import { responseTo } from "../message/write.ts";
import type { Flow } from "../transport/transport.ts";
import { stampVia } from "../transport/via-stamp.ts";
import { type ClientDeps, ClientMachine } from "./client-transaction.ts";
import { newCounters, type TransactionCounters } from "./counters.ts";
import { cancelFor } from "./derived-requests.ts";
import { inviteKey, magicCookie, mergeKey, requestKey } from "./keys.ts";
import { type ServerDeps, ServerMachine, type ServerTransaction } from "./server-transaction.ts";
import { newTag } from "./tags.ts";
import { patience, type TimerValues } from "./timers.ts";
import { defaultLimits, TransactionCaps, type TransactionLimits } from "./transaction-caps.ts";
import type { ClientTransaction, ClientTransactionUser, OutgoingRequest, TransactionUser } from "./users.ts";

/** What the transaction layer needs of the transport layer. */
export interface ResponseRouter {
  /** The way back of a request's responses (RFC 3261 section 18.2.2, RFC 3581). */
  responseFlow(request: SipMessage, flow: Flow): Flow;
  /** The flow itself, or a new one to the same peer where its connection has closed. */
  liveFlow(flow: Flow): Flow;
}

export interface TransactionLayerOptions {
  readonly transports: ResponseRouter;
  readonly clock: Clock;
  readonly timers: TimerValues;
  readonly user: TransactionUser;
  /** The longest wait for anything after a provisional response to our INVITE, in ms; then it is cancelled. 180 s. */
  readonly silenceAfterProvisional?: Ms;
  readonly limits?: TransactionLimits;
}

/** Three minutes without a sign of progress, as with a proxy's Timer C (RFC 3261 section 16.6 step 11). */
const defaultSilence: Ms = 180_000;

/** Seconds after which a capped source may try again: some of its transactions are over by then. */
const retryAfterS = 10;

/** A CANCEL is on its own: what becomes of it shows in the INVITE. */
const nobody: ClientTransactionUser = { response() {}, timeout() {}, transportFailure() {} };

/** RFC 3261 section 17: matches messages to transactions, and makes the messages that are the layer's own affair. */
export class TransactionLayer {
  readonly counters: TransactionCounters = newCounters();
  readonly #transports: ResponseRouter;
  readonly #user: TransactionUser;
  readonly #clientDeps: ClientDeps;
  readonly #serverDeps: ServerDeps;
  /** By branch; a CANCEL has the branch of its INVITE, hence the second map. */
  readonly #clients = new Map<string, ClientMachine>();
  readonly #cancels = new Map<string, ClientMachine>();
  readonly #servers = new Map<string, ServerMachine>();
  readonly #mergeable = new Map<string, ServerMachine>();
  readonly #caps: TransactionCaps;

  constructor(options: TransactionLayerOptions) {
    const { clock, timers, user } = options;
    const { counters } = this;
    this.#transports = options.transports;
    this.#user = user;
    this.#caps = new TransactionCaps(options.limits ?? defaultLimits);
    this.#clientDeps = {
      clock,
      timers,
      counters,
      cancellation: { silence: options.silenceAfterProvisional ?? defaultSilence, final: patience(timers) },
      forget: (client) => this.#clientsLike(client.method).delete(client.branch),
      sendCancel: (invite, headers) => this.#sendCancel(invite, headers),
      stray: (response, flow) => this.#stray(response, flow),
    };
    this.#serverDeps = {
      clock,
      timers,
      counters,
      forget: (server) => this.#forget(server),
      passAck: (ack, flow) => user.ack(ack, flow),
    };
  }

  /** Transactions alive, those that only wait for stragglers included. */
  get counts(): { readonly clients: number; readonly servers: number } {
    return { clients: this.#clients.size + this.#cancels.size, servers: this.#servers.size };
  }

  /** Sends a request other than ACK as a new client transaction. */
  request(request: OutgoingRequest, flow: Flow, user: ClientTransactionUser): ClientTransaction {
    const client = new ClientMachine(request, flow, user, this.#clientDeps);
    this.#clientsLike(request.method).set(request.branch, client);
    this.counters.clientTransactions++;
    client.start();
    return client;
  }

  /** Ends every transaction where it stands: nothing more is sent, nobody is told, no timer is left. */
  stop(): void {
    for (const machines of [this.#clients, this.#cancels, this.#servers]) {
      for (const machine of [...machines.values()]) machine.stop();
    }
  }

  /** Whether a request repeats one that has a transaction. */
  knows(request: SipMessage): boolean {
    return this.#servers.has(request.method === "INVITE" ? inviteKey(request) : requestKey(request));
  }

  /** Takes a message from the network. */
  receive(message: SipMessage, flow: Flow): void {
    if (!message.isRequest) this.#receiveResponse(message, flow);
    else if (message.method === "ACK") this.#receiveAck(message, flow);
    else this.#receiveRequest(message, flow);
  }

  #receiveRequest(request: SipMessage, flow: Flow): void {
    const key = request.method === "INVITE" ? inviteKey(request) : requestKey(request);
    const known = this.#servers.get(key);
    if (known) known.repeated();
    else if (request.method === "CANCEL") this.#receiveCancel(request, flow, key);
    // What belongs to a call goes through: it may free something.
    else if (request.toTag === "" && !this.#caps.hasRoom(flow.remoteAddress)) this.#refuse(request, flow);
    else this.#receiveNewRequest(request, flow, key);
  }

  #receiveNewRequest(request: SipMessage, flow: Flow, key: string): void {
    const merge = request.toTag === "" ? mergeKey(request) : "";
    const merged = this.#mergeable.has(merge);
    const server = this.#serve(request, flow, key, merged ? "" : merge);
    if (merged) {
      this.counters.mergedRequests++;
      this.#answer(server, 482);
      return;
    }
    if (request.method === "INVITE") this.#answer(server, 100);
    this.#user.request(server);
  }

  #receiveResponse(response: SipMessage, flow: Flow): void {
    // RFC 3261 section 8.1.3.3: with another Via below ours it is somebody else's, led astray.
    if (response.headerValues("via").length > 1) {
      this.counters.strayResponses++;
      return;
    }
    // RFC 3261 section 17.1.3: the branch of the top Via, and the method in CSeq.
    const client = this.#clientsLike(response.method).get(response.branch);
    if (client?.method === response.method) client.receive(response, flow);
    else this.#stray(response, flow);
  }

  #receiveAck(ack: SipMessage, flow: Flow): void {
    const invite = this.#servers.get(inviteKey(ack));
    if (invite && acknowledges(ack, invite)) invite.acknowledged(ack);
    else this.#user.ack(ack, flow);
  }

  #receiveCancel(cancel: SipMessage, flow: Flow, key: string): void {
    const invite = this.#servers.get(inviteKey(cancel));
    const server = this.#serve(cancel, flow, key, "");
    if (!invite) {
      this.counters.strayCancels++;
      this.#answer(server, 481);
      return;
    }
    // One tag for the answers to both (RFC 3261 section 9.2).
    server.localTag = invite.transaction?.localTag ?? invite.localTag;
    this.#answer(server, 200);
    if (invite.transaction) this.#user.cancel(invite.transaction, cancel);
  }

  #serve(request: SipMessage, flow: Flow, key: string, merge: string): ServerTransaction {
    const machine = new ServerMachine(request.method, this.#transports.responseFlow(request, flow), this.#serverDeps);
    machine.key = key;
    machine.mergeKey = merge;
    this.#servers.set(key, machine);
    this.#caps.add(flow.remoteAddress);
    if (merge !== "") this.#mergeable.set(merge, machine);
    this.counters.serverTransactions++;
    return machine.start(request, flow);
  }

  #forget(server: ServerMachine): void {
    this.#servers.delete(server.key);
    this.#caps.remove(server.source);
    if (server.mergeKey !== "") this.#mergeable.delete(server.mergeKey);
  }

  #answer(server: ServerTransaction, status: number): void {
    const { request, flow } = server;
    const toTag = status === 100 ? "" : server.localTag;
    server.respond(responseTo(request, status, { toTag, topVia: stampVia(request, flow) }).body(), status);
  }

  /** Without a transaction, whose memory is what there is too little of. */
  #refuse(request: SipMessage, flow: Flow): void {
    this.counters.cappedRequests++;
    const response = responseTo(request, 503, { toTag: newTag(), topVia: stampVia(request, flow) });
    this.#transports.responseFlow(request, flow).send(response.header("Retry-After", retryAfterS).body());
  }

  #sendCancel(invite: ClientMachine, headers: string): void {
    const { branch, flow, text } = invite;
    this.request({ method: "CANCEL", branch, text: cancelFor(text, headers) }, this.#transports.liveFlow(flow), nobody);
  }

  #stray(response: SipMessage, flow: Flow): void {
    this.counters.strayResponses++;
    this.#user.strayResponse?.(response, flow);
  }

  #clientsLike(method: string): Map<string, ClientMachine> {
    return method === "CANCEL" ? this.#cancels : this.#clients;
  }
}

/** RFC 2543's matching, without magic cookie, wants the ACK's To tag to be the response's (RFC 3261 section 17.2.3). */
function acknowledges(ack: SipMessage, invite: ServerMachine): boolean {
  if (ack.branch.startsWith(magicCookie) || invite.lastResponse === "") return true;
  const response = parseMessage(invite.lastResponse, { lenient: true });
  return response instanceof SipMessage && response.toTag === ack.toTag;
}
