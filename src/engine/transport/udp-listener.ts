import dgram from "node:dgram";
import { once } from "node:events";
import { parseMessage } from "../message/sip-message.ts";
import { familyOf, isWildcard, noLookup, sourceAddress } from "./addresses.ts";
import type { TransportCounters } from "./counters.ts";
import { FailureListeners } from "./failure-listeners.ts";
import type { FailureListener, Flow, Target, Watch } from "./transport.ts";
import type { Turn, Writer } from "./turn.ts";

/** Asked of the system, which may give less: room for a burst while the application runs. */
const RECEIVE_BUFFER_BYTES = 4_194_304;

/** One UDP address that is listened on, and the sockets that watch single peers from the same address. */
export class UdpListener implements Target {
  readonly protocol = "udp";
  readonly address: string;
  readonly #turn: Turn;
  readonly #counters: TransportCounters;
  readonly #watchedPeers: number;
  readonly #watched = new Map<string, WatchedPeer>();
  #socket: dgram.Socket | undefined;
  #port: number;

  constructor(
    target: Target,
    deps: { readonly turn: Turn; readonly counters: TransportCounters; readonly watchedPeers: number },
  ) {
    this.address = target.address;
    this.#port = target.port;
    this.#turn = deps.turn;
    this.#counters = deps.counters;
    this.#watchedPeers = deps.watchedPeers;
  }

  get port(): number {
    return this.#port;
  }

  /**
   * Binds. `reuseAddr`, which the sockets for watched peers need, would let a second process bind the same port and steal
   * datagrams, so a socket without it goes first to see that the port is free.
   */
  async start(): Promise<void> {
    await closeSocket(await this.#bind(false));
    const socket = await this.#bind(true);
    socket.on("message", (bytes, peer) => this.#receive(bytes, peer));
    // An unconnected socket hears nothing of single peers; what comes here concerns no flow.
    socket.on("error", () => this.#counters.failures++);
    this.#socket = socket;
  }

  async stop(): Promise<void> {
    const sockets = [this.#socket, ...[...this.#watched.values()].map(({ socket }) => socket)];
    this.#counters.watchedPeers -= this.#watched.size;
    this.#watched.clear();
    this.#socket = undefined;
    await Promise.all(sockets.map((socket) => closeSocket(socket)));
  }

  /** The way to a peer by the listening socket. */
  flowTo(address: string, port: number): Flow {
    return new UdpFlow(this, this.#turn, address, port);
  }

  /** The way to a peer by a socket of its own, which alone hears ICMP; by the listening socket when there can be none. */
  watch(address: string, port: number, watch: Watch): Flow {
    const key = `${address} ${port}`;
    const known = this.#watched.get(key);
    if (known !== undefined) {
      // To the end of the map's order, so that the first in it is the one used longest ago.
      this.#watched.delete(key);
      this.#watched.set(key, known);
      return known;
    }
    if (this.#watched.size >= this.#watchedPeers) {
      if (watch === "if-room") return this.flowTo(address, port);
      this.#forgetOldest();
    }
    const peer = this.#connect(address, port);
    if (peer === undefined) return this.flowTo(address, port);
    this.#watched.set(key, peer);
    this.#counters.watchedPeers++;
    return peer;
  }

  /** What this listener is called towards a peer. */
  addressFor(peer: string): string {
    return isWildcard(this.address) ? sourceAddress(peer) : this.address;
  }

  /** Sends by the listening socket; `failed` hears of an error the system tells at once. */
  sendTo(bytes: Buffer, address: string, port: number, failed?: (error: Error) => void): void {
    if (failed === undefined) this.#socket?.send(bytes, port, address);
    else this.#socket?.send(bytes, port, address, (error) => error !== null && failed(error));
  }

  /** Makes an ICMP or send error known to those who wait on a path, in a turn. */
  fail(listeners: FailureListeners, error: Error): void {
    this.#counters.failures++;
    this.#turn.defer(() => listeners.announce(error));
  }

  async #bind(reuseAddr: boolean): Promise<dgram.Socket> {
    const socket = this.#open(reuseAddr);
    const listening = once(socket, "listening");
    socket.bind({ address: this.address, port: this.#port, exclusive: true });
    try {
      await listening;
    } catch (error) {
      socket.close();
      throw error;
    }
    this.#port = socket.address().port;
    return socket;
  }

  #open(reuseAddr: boolean): dgram.Socket {
    const six = familyOf(this.address) === 6;
    return dgram.createSocket({
      type: six ? "udp6" : "udp4",
      ipv6Only: six,
      reuseAddr,
      recvBufferSize: RECEIVE_BUFFER_BYTES,
      lookup: noLookup,
    });
  }

  #connect(address: string, port: number): WatchedPeer | undefined {
    const socket = this.#open(true);
    let failed = false;
    socket.once("error", () => {
      failed = true;
    });
    try {
      // Both happen at once: `noLookup` answers synchronously. Between the two the new socket may be given datagrams of any
      // peer, so it takes them all.
      socket.bind({ address: this.address, port: this.#port, exclusive: true });
      if (!failed) socket.connect(port, address);
    } catch {
      failed = true;
    }
    if (failed) {
      socket.close();
      return undefined;
    }
    socket.on("message", (bytes, peer) => this.#receive(bytes, peer));
    return new WatchedPeer(this, this.#turn, socket, address, port);
  }

  #forgetOldest(): void {
    for (const [key, peer] of this.#watched) {
      this.#watched.delete(key);
      this.#counters.watchedPeers--;
      peer.socket.close();
      return;
    }
  }

  #receive(bytes: Buffer, peer: dgram.RemoteInfo): void {
    if (isKeepAlive(bytes)) {
      this.#counters.keepAlives++;
      return;
    }
    const flow = new UdpFlow(this, this.#turn, peer.address, peer.port);
    this.#turn.receive(parseMessage(bytes.toString("latin1")), flow, bytes.length);
  }
}

/** Whether a datagram only keeps a NAT binding open: empty, or nothing but CR, LF and NUL. */
function isKeepAlive(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte !== 13 && byte !== 10 && byte !== 0) return false;
  }
  return true;
}

function closeSocket(socket: dgram.Socket | undefined): Promise<void> {
  if (socket === undefined) return Promise.resolve();
  return new Promise((resolve) => socket.close(resolve));
}

/** The path from a listening address to one UDP peer. */
abstract class UdpPath implements Flow, Writer {
  readonly protocol = "udp";
  readonly reliable = false;

  constructor(
    protected readonly listener: UdpListener,
    protected readonly turn: Turn,
    readonly remoteAddress: string,
    readonly remotePort: number,
  ) {}

  get localAddress(): string {
    return this.listener.addressFor(this.remoteAddress);
  }

  get localPort(): number {
    return this.listener.port;
  }

  send(text: string): void {
    this.turn.send(this, text);
  }

  abstract write(text: string): void;
  abstract onFailure(listener: FailureListener): () => void;
}

/** A peer reached by the listening socket. Many are made (one a datagram), so there is little in it. */
class UdpFlow extends UdpPath {
  #failures: FailureListeners | undefined;

  write(text: string): void {
    const failures = this.#failures;
    const bytes = Buffer.from(text, "latin1");
    if (failures === undefined || failures.size === 0) {
      this.listener.sendTo(bytes, this.remoteAddress, this.remotePort);
    } else {
      this.listener.sendTo(bytes, this.remoteAddress, this.remotePort, (error) => this.listener.fail(failures, error));
    }
  }

  onFailure(listener: FailureListener): () => void {
    this.#failures ??= new FailureListeners((error) => this.turn.defect(error));
    return this.#failures.add(listener);
  }
}

/** A peer with a connected socket: the only kind to which the system reports ICMP port or host unreachable. */
class WatchedPeer extends UdpPath {
  readonly #failures: FailureListeners;

  constructor(
    listener: UdpListener,
    turn: Turn,
    readonly socket: dgram.Socket,
    remoteAddress: string,
    remotePort: number,
  ) {
    super(listener, turn, remoteAddress, remotePort);
    this.#failures = new FailureListeners((error) => turn.defect(error));
    socket.on("error", (error) => this.#failed(error));
  }

  write(text: string): void {
    const bytes = Buffer.from(text, "latin1");
    try {
      // An ICMP error waiting in the socket is told to the next send, whose datagram then stays unsent: hence the callback.
      this.socket.send(bytes, (error) => error !== null && this.#failed(error));
    } catch {
      // This socket was given up (the peer was the one used longest ago) while somebody still held the flow.
      this.listener.sendTo(bytes, this.remoteAddress, this.remotePort, (error) => this.#failed(error));
    }
  }

  onFailure(listener: FailureListener): () => void {
    return this.#failures.add(listener);
  }

  #failed(error: Error): void {
    this.listener.fail(this.#failures, error);
  }
}
