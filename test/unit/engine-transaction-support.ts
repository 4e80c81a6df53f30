import { parseMessage, SipMessage } from "../../src/engine/message/sip-message.ts";
import { responseTo } from "../../src/engine/message/write.ts";
import type { InviteClientEvent } from "../../src/engine/transaction/invite-client-rules.ts";
import type { InviteServerEvent } from "../../src/engine/transaction/invite-server-rules.ts";
import { Machine } from "../../src/engine/transaction/machine.ts";
import type { NonInviteClientEvent } from "../../src/engine/transaction/non-invite-client-rules.ts";
import type { NonInviteServerEvent } from "../../src/engine/transaction/non-invite-server-rules.ts";
import type { AnyRules } from "../../src/engine/transaction/rules.ts";
import type { ServerTransaction } from "../../src/engine/transaction/server-transaction.ts";
import { defaultTimers, type RepeatTimer } from "../../src/engine/transaction/timers.ts";
import { TransactionLayer, type TransactionLayerOptions } from "../../src/engine/transaction/transaction-layer.ts";
import type { ClientTransaction } from "../../src/engine/transaction/users.ts";
import type { Flow, Protocol } from "../../src/engine/transport/transport.ts";
import { ManualClock } from "../support/manual-clock.ts";

/** A flow that keeps what is sent, and fails on demand. */
export class FakeFlow implements Flow {
  readonly localAddress = "127.0.0.1";
  readonly localPort = 5060;
  readonly remoteAddress = "127.0.0.2";
  readonly remotePort = 5080;
  readonly reliable: boolean;
  sent: string[] = [];
  readonly #listeners = new Set<(error: Error) => void>();

  constructor(readonly protocol: Protocol = "udp") {
    this.reliable = protocol !== "udp";
  }

  send(text: string): void {
    this.sent.push(text);
  }

  onFailure(listener: (error: Error) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  fail(error = new Error("connection refused")): void {
    for (const listener of [...this.#listeners]) listener(error);
  }

  /** The start lines sent since the last call: method or status only. */
  take(): string[] {
    const lines = this.sent.map(headline);
    this.sent = [];
    return lines;
  }
}

/** "INVITE" or "200": what a message is, in one word. */
export function headline(text: string): string {
  const [first = "", second = ""] = text.split(" ", 2);
  return first === "SIP/2.0" ? second : first;
}

/** Parses a message given with bare line feeds; its body is what follows the empty line. */
export function message(text: string): SipMessage {
  const parsed = parseMessage(`${text.trim().replace(/\r?\n/g, "\r\n")}\r\n\r\n`);
  if (!(parsed instanceof SipMessage)) throw new Error(`malformed: ${parsed.reason}`);
  return parsed;
}

type AnyEvent = InviteClientEvent | NonInviteClientEvent | InviteServerEvent | NonInviteServerEvent;

/** Drives a table with nothing behind it, and tells what it would have had done. */
export class Probe<State extends string, Event extends AnyEvent, Action extends string> extends Machine<
  State,
  Event,
  Action
> {
  readonly clock: ManualClock;
  actions: Action[] = [];
  ends = 0;

  constructor(rules: AnyRules<State, Event, Action>, repeatTimer: RepeatTimer, reliable: boolean, clock: ManualClock) {
    super(rules, repeatTimer, { clock, timers: defaultTimers }, reliable);
    this.clock = clock;
    this.begin();
  }

  /** The outcome of one event: "state: actions", with the number of timers left running in brackets. */
  outcome(event: Event): string {
    this.actions = [];
    const taken = this.dispatch(event);
    return taken ? this.#describe() : `ignored`;
  }

  walk(path: readonly Event[]): this {
    for (const event of path) this.dispatch(event);
    return this;
  }

  protected act(action: Action): void {
    this.actions.push(action);
  }

  protected terminated(): void {
    this.ends++;
  }

  #describe(): string {
    return `${this.state} [${this.clock.pending}] ${this.actions.join(", ")}`.trimEnd();
  }
}

/** What each event does in each state, written as `Probe.outcome` tells it. */
export type Outcomes<State extends string, Event extends string> = Record<
  Exclude<State, "terminated">,
  Record<Event, string>
>;

/** The real outcome of every cell, each in a fresh machine that has walked `paths[state]`. */
export function outcomes<State extends string, Event extends AnyEvent, Action extends string>(
  rules: AnyRules<State, Event, Action>,
  repeatTimer: RepeatTimer,
  paths: Record<Exclude<State, "terminated">, readonly Event[]>,
  expected: Outcomes<State, Event>,
  reliable = false,
): Outcomes<State, Event> {
  const rows = Object.entries(expected) as [Exclude<State, "terminated">, Record<Event, string>][];
  return Object.fromEntries(
    rows.map(([state, cells]) => [
      state,
      Object.fromEntries(
        (Object.keys(cells) as Event[]).map((event) => {
          const probe = new Probe(rules, repeatTimer, reliable, new ManualClock()).walk(paths[state]);
          if (probe.state !== state) throw new Error(`the path to ${state} leads to ${probe.state}`);
          return [event, probe.outcome(event)];
        }),
      ),
    ]),
  ) as Outcomes<State, Event>;
}

/** A transaction layer on a manual clock, with a user that writes down what it is told. */
export class Bench {
  readonly clock = new ManualClock();
  /** What the layer above was told: "INVITE", "ack", "cancel", "stray 200". */
  heard: string[] = [];
  /** Requests handed up, in order. */
  servers: ServerTransaction[] = [];
  readonly layer: TransactionLayer;

  constructor(options: Pick<TransactionLayerOptions, "silenceAfterProvisional" | "limits"> = {}) {
    this.layer = new TransactionLayer({
      ...options,
      transports: { responseFlow: (_request, flow) => flow, liveFlow: (flow) => flow },
      clock: this.clock,
      timers: defaultTimers,
      user: {
        request: (server) => {
          this.servers.push(server);
          this.heard.push(server.request.method);
        },
        ack: () => this.heard.push("ack"),
        cancel: (invite, cancel) => this.heard.push(`cancel ${invite.request.callId} by ${cancel.method}`),
        strayResponse: (response) => this.heard.push(`stray ${response.status}`),
      },
    });
  }

  /** The latest request handed up. */
  get server(): ServerTransaction {
    const server = this.servers.at(-1);
    if (!server) throw new Error("no request has been handed up");
    return server;
  }

  /** What was heard since the last call. */
  take(): string[] {
    const heard = this.heard;
    this.heard = [];
    return heard;
  }

  /** Everything alive: transactions and timers. */
  get alive(): { clients: number; servers: number; timers: number } {
    return { ...this.layer.counts, timers: this.clock.pending };
  }

  /** Sends a request of ours and writes down what becomes of it. */
  send(method: string, flow: FakeFlow, branch = `z9hG4bK-${method}`): Sent {
    const heard: string[] = [];
    const transaction = this.layer.request({ method, branch, text: requestText(method, branch) }, flow, {
      response: (response) => heard.push(String(response.status)),
      timeout: () => heard.push("timeout"),
      transportFailure: (error) => heard.push(`failure: ${error.message}`),
    });
    return {
      heard,
      transaction,
      answer: (status, toTag) => this.layer.receive(responseFor(transaction, status, toTag), flow),
    };
  }
}

export interface Sent {
  /** What its user was told: statuses, "timeout", "failure: …". */
  readonly heard: string[];
  readonly transaction: ClientTransaction;
  /** The peer answers. */
  answer(status: number, toTag?: string): void;
}

export const nothing = { clients: 0, servers: 0, timers: 0 };

/** A request of ours as it goes on the wire. */
export const requestText = (method: string, branch: string): string =>
  `${method} sip:bob@127.0.0.2:5080 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:5060;rport;branch=${branch}\r\n` +
  "Route: <sip:127.0.0.9;lr>\r\nMax-Forwards: 70\r\nFrom: <sip:alice@127.0.0.1>;tag=a\r\nTo: <sip:bob@127.0.0.2>\r\n" +
  `Call-ID: out@127.0.0.1\r\nCSeq: 7 ${method}\r\nContact: <sip:127.0.0.1:5060>\r\nContent-Length: 0\r\n\r\n`;

/** The peer's response to a request of ours. */
export const responseFor = (request: { method: string; branch: string }, status: number, toTag = "b"): SipMessage =>
  message(`SIP/2.0 ${status} Whatever
Via: SIP/2.0/UDP 127.0.0.1:5060;rport=5060;branch=${request.branch}
From: <sip:alice@127.0.0.1>;tag=a
To: <sip:bob@127.0.0.2>;tag=${toTag}
Call-ID: out@127.0.0.1
CSeq: 7 ${request.method}
Contact: <sip:bob@127.0.0.2:5080>
Content-Length: 0`);

/** A request of the peer, with what the tests vary. */
export function incoming(
  method: string,
  options: {
    branch?: string;
    callId?: string;
    cseq?: number;
    sentBy?: string;
    toTag?: string;
    fromTag?: string;
    uri?: string;
  } = {},
): SipMessage {
  const {
    branch = "z9hG4bK-in",
    callId = "in@127.0.0.2",
    cseq = 1,
    sentBy = "127.0.0.2:5080",
    toTag,
    fromTag = "c",
  } = options;
  return message(`${method} ${options.uri ?? "sip:weir@127.0.0.1"} SIP/2.0
Via: SIP/2.0/UDP ${sentBy}${branch === "" ? "" : `;branch=${branch}`}
Max-Forwards: 70
From: <sip:carol@127.0.0.2>;tag=${fromTag}
To: <sip:weir@127.0.0.1>${toTag === undefined ? "" : `;tag=${toTag}`}
Call-ID: ${callId}
CSeq: ${cseq} ${method}
Contact: <sip:carol@127.0.0.2:5080>
Content-Length: 0`);
}

/** A response of ours to what was handed up, sent by its transaction. */
export function respond(server: ServerTransaction, status: number): boolean {
  return server.respond(responseTo(server.request, status, { toTag: server.localTag }).body(), status);
}
