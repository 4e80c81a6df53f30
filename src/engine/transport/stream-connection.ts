import type { Socket } from "node:net";
import type { Clock, Timer } from "../../clock.ts";
import { type MalformedMessage, parseMessage, SipMessage } from "../message/sip-message.ts";
import { normalAddress } from "./addresses.ts";
import { countMalformed, type TransportCounters } from "./counters.ts";
import { FailureListeners } from "./failure-listeners.ts";
import type { TransportLimits } from "./limits.ts";
import { type Frame, StreamFramer } from "./stream-framer.ts";
import type { FailureListener, Flow, Target } from "./transport.ts";
import type { Turn, Writer } from "./turn.ts";

/** The listener that a connection belongs to. */
type StreamSide = Target & { readonly protocol: "tcp" | "tls" };

/** What connections and their listeners work with. */
export interface StreamDeps {
  readonly turn: Turn;
  readonly clock: Clock;
  readonly counters: TransportCounters;
  readonly limits: TransportLimits;
}

/** The other end of a connection. */
export interface StreamPeer {
  readonly address: string;
  readonly port: number;
  /** The name that the address was found by. */
  readonly name?: string;
  /** The event by which a connection of ours comes up; undefined for one that was accepted. */
  readonly up?: "connect" | "secureConnect";
  /** The first request that comes over it. */
  readonly firstRequest?: (request: SipMessage) => void;
}

interface ConnectionDeps extends StreamDeps {
  /** An error of the socket in words for people. */
  readonly explain: (error: Error) => Error;
  /** The connection is gone; called once. */
  readonly closed: (connection: StreamConnection) => void;
}

/** One TCP or TLS connection, opened by either side, and the flow that it is. */
export class StreamConnection implements Flow, Writer {
  readonly protocol: "tcp" | "tls";
  readonly reliable = true;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly #socket: Socket;
  readonly #peer: StreamPeer;
  readonly #listener: StreamSide;
  readonly #localAddress: () => string;
  readonly #deps: ConnectionDeps;
  readonly #framer = new StreamFramer();
  readonly #failures: FailureListeners;
  #connectTimer: Timer | undefined;
  #messageTimer: Timer | undefined;
  #idleTimer: Timer | undefined;
  #lastUse: number;
  #open = true;
  #asked = false;

  constructor(
    socket: Socket,
    peer: StreamPeer,
    local: { readonly listener: StreamSide; readonly address: () => string },
    deps: ConnectionDeps,
  ) {
    this.#socket = socket;
    this.#peer = peer;
    this.protocol = local.listener.protocol;
    this.remoteAddress = normalAddress(peer.address);
    this.remotePort = peer.port;
    this.#listener = local.listener;
    this.#localAddress = local.address;
    this.#deps = deps;
    this.#failures = new FailureListeners((error) => deps.turn.defect(error));
    this.#lastUse = deps.clock.now();
    this.#watchIdle(deps.limits.idleTimeout);
    socket.setNoDelay(true);
    socket.on("data", (bytes) => this.#receive(bytes));
    socket.on("error", (error) => this.#end(deps.explain(error)));
    // A peer that has closed its side takes no answers any more as far as Node's default goes.
    socket.on("end", () => this.#end(new Error(`${peerName(this)} closed the connection`)));
    socket.on("close", () => this.#end(new Error(`the connection to ${peerName(this)} was closed`)));
    if (peer.up !== undefined) this.#awaitConnect(peer.up);
  }

  /** Where another connection to the same peer would lead. */
  get target(): Target {
    const { name } = this.#peer;
    const target = { protocol: this.protocol, address: this.remoteAddress, port: this.remotePort };
    return name === undefined ? target : { ...target, name };
  }

  get localAddress(): string {
    return this.#localAddress();
  }

  get localPort(): number {
    return this.#listener.port;
  }

  /** Whether messages still get through. */
  get open(): boolean {
    return this.#open;
  }

  send(text: string): void {
    this.#deps.turn.send(this, text);
  }

  write(text: string): void {
    if (!this.#open) return;
    this.#lastUse = this.#deps.clock.now();
    this.#put(text);
  }

  onFailure(listener: FailureListener): () => void {
    return this.#failures.add(listener);
  }

  /** Ends the connection without telling anyone that it failed. */
  destroy(): void {
    this.#release();
    this.#socket.destroy();
  }

  #put(text: string): void {
    this.#socket.write(text, "latin1");
    if (this.#socket.writableLength > this.#deps.limits.unreadBytes) this.#giveUp("does not read");
  }

  #awaitConnect(up: string): void {
    const { clock, limits } = this.#deps;
    this.#connectTimer = clock.after(limits.connectTimeout, () => this.#giveUp("did not answer in time"));
    this.#socket.once(up, () => this.#connectTimer?.cancel());
  }

  #receive(bytes: Buffer): void {
    this.#lastUse = this.#deps.clock.now();
    this.#framer.push(bytes.toString("latin1"));
    for (let frame = this.#framer.next(); frame !== undefined && this.#open; frame = this.#framer.next()) {
      this.#take(frame);
    }
    if (!this.#open || !this.#framer.partial) {
      this.#messageTimer?.cancel();
      this.#messageTimer = undefined;
    } else {
      // From the first byte: a peer that trickles does not gain time by it.
      this.#messageTimer ??= this.#deps.clock.after(this.#deps.limits.messageTimeout, () => {
        this.#giveUp("did not complete a message in time");
      });
    }
  }

  #take(frame: Frame): void {
    const { turn, counters } = this.#deps;
    if (frame.kind === "message") {
      // A complete message restarts the time that its successor in the stream may take.
      this.#messageTimer?.cancel();
      this.#messageTimer = undefined;
      const message = parseMessage(frame.text);
      if (!this.#asked) this.#noteRequest(message);
      turn.receive(message, this, frame.text.length);
      if ("reason" in message && message.status === 0) this.#shut();
    } else if (frame.kind === "ping") {
      counters.keepAlives++;
      this.#put("\r\n");
    } else {
      const message = parseMessage(frame.text);
      // A head with a wrong length can be answered before the connection ends.
      if ("reason" in message && message.status !== 0) turn.receive(message, this, frame.text.length);
      else countMalformed(counters, frame.reason);
      this.#shut();
    }
  }

  #noteRequest(message: SipMessage | MalformedMessage): void {
    if (!(message instanceof SipMessage) || !message.isRequest) return;
    this.#asked = true;
    this.#peer.firstRequest?.(message);
  }

  /** Closes for what the peer sent, after the answers of the turn that is due. */
  #shut(): void {
    this.#deps.counters.connectionsClosed++;
    this.#socket.pause();
    this.#deps.turn.afterwards(() => {
      this.#socket.end();
      this.#end(new Error(`the connection to ${peerName(this)} carried what is not SIP`));
      // A peer that does not close its side gets no more time than a slow message would.
      const timer = this.#deps.clock.after(this.#deps.limits.messageTimeout, () => this.#socket.destroy());
      this.#socket.once("close", () => timer.cancel());
      this.#socket.resume();
    });
  }

  #giveUp(why: string): void {
    this.#deps.counters.connectionsClosed++;
    this.#end(new Error(`${peerName(this)} ${why}`));
    this.#socket.destroy();
  }

  #watchIdle(wait: number): void {
    const { clock, limits } = this.#deps;
    this.#idleTimer = clock.after(wait, () => {
      const idle = clock.now() - this.#lastUse;
      if (idle >= limits.idleTimeout) this.#giveUp("was idle");
      else this.#watchIdle(limits.idleTimeout - idle);
    });
  }

  #end(error: Error): void {
    if (!this.#open) return;
    this.#release();
    if (this.#failures.size === 0) return;
    this.#deps.counters.failures++;
    this.#deps.turn.defer(() => this.#failures.announce(error));
  }

  #release(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#connectTimer?.cancel();
    this.#messageTimer?.cancel();
    this.#idleTimer?.cancel();
    this.#deps.closed(this);
  }
}

function peerName(flow: Flow): string {
  return `${flow.remoteAddress} port ${flow.remotePort}`;
}
