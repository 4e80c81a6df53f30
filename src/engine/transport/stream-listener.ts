import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import type { SipMessage } from "../message/sip-message.ts";
import { defaultPort, familyOf, isWildcard, normalAddress, sourceAddress } from "./addresses.ts";
import { StreamConnection, type StreamDeps, type StreamPeer } from "./stream-connection.ts";
import type { StreamSockets } from "./stream-sockets.ts";
import type { StreamTarget } from "./tls-peers.ts";
import type { Target } from "./transport.ts";

/** One TCP or TLS address that is listened on, and the connections from and to it. */
export class StreamListener implements Target {
  readonly protocol: "tcp" | "tls";
  readonly address: string;
  readonly #sockets: StreamSockets;
  readonly #server: Server;
  readonly #deps: StreamDeps;
  /** By where they lead; of two to the same peer (crossing connects) the younger. */
  readonly #connections = new Map<string, StreamConnection>();
  /** Every one that is open, with its keys. */
  readonly #keys = new Map<StreamConnection, string[]>();
  /** Accepted, but not up yet: TLS handshakes. */
  readonly #rising = new Set<Socket>();
  readonly #accepted = new Map<string, number>();
  #port: number;

  constructor(target: Target, sockets: StreamSockets, deps: StreamDeps) {
    this.protocol = sockets.protocol;
    this.address = target.address;
    this.#port = target.port;
    this.#sockets = sockets;
    this.#deps = deps;
    this.#server = createServer({ keepAlive: true }, (socket) => this.#accept(socket));
  }

  get port(): number {
    return this.#port;
  }

  async start(): Promise<void> {
    const listening = once(this.#server, "listening");
    this.#server.listen({ host: this.address, port: this.#port, ipv6Only: familyOf(this.address) === 6 });
    await listening;
    const bound = this.#server.address();
    if (bound !== null && typeof bound === "object") this.#port = bound.port;
    // What an accept may fail with (no file descriptors left) is over when the next one succeeds.
    this.#server.on("error", () => this.#deps.counters.failures++);
  }

  async stop(): Promise<void> {
    for (const connection of [...this.#keys.keys()]) connection.destroy();
    for (const socket of this.#rising) socket.destroy();
    if (!this.#server.listening) return;
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The open connection with a peer, or a new one. */
  connectionTo(target: StreamTarget): StreamConnection | undefined {
    const key = keyOf(target.address, target.port, this.#sockets.peerOf(target));
    const known = this.#connections.get(key);
    if (known?.open) return known;
    const { counters, limits } = this.#deps;
    if (counters.connections >= limits.connections) {
      counters.connectionsRefused++;
      return undefined;
    }
    this.#count();
    // From the listener's own address: peers know us by it.
    const socket = this.#sockets.open(target, isWildcard(this.address) ? undefined : this.address);
    const connection = this.#adopt(socket, key, { ...target, up: this.#sockets.up, closed: () => this.#uncount() });
    // A peer that was found by its name tells its bare address in its Contact.
    this.#alias(connection, keyOf(target.address, target.port, ""));
    return connection;
  }

  /** The open connection that a peer has made from there, undefined where there is none. */
  connectionWith(address: string, port: number): StreamConnection | undefined {
    const known = this.#connections.get(keyOf(address, port, ""));
    return known?.open ? known : undefined;
  }

  #accept(raw: Socket): void {
    const { remoteAddress: address, remotePort: port } = raw;
    // Gone before it was looked at.
    if (address === undefined || port === undefined) {
      raw.destroy();
      return;
    }
    const { counters, limits } = this.#deps;
    const fromThere = this.#accepted.get(address) ?? 0;
    if (counters.connections >= limits.connections || fromThere >= limits.connectionsPerSource) {
      counters.connectionsRefused++;
      raw.destroy();
      return;
    }
    this.#accepted.set(address, fromThere + 1);
    this.#count();
    this.#rise(raw, (socket) => {
      const firstRequest = (request: SipMessage): void => this.#offerAlias(connection, socket, request);
      const closed = (): void => this.#uncount(address);
      const connection = this.#adopt(socket, keyOf(address, port, ""), { address, port, firstRequest, closed });
    });
  }

  /** A peer that takes its time over the handshake, or sends something else, holds its place only for so long. */
  #rise(raw: Socket, risen: (socket: Socket) => void): void {
    const { clock, counters, limits } = this.#deps;
    const timer = clock.after(limits.connectTimeout, () => raw.destroy());
    this.#rising.add(raw);
    const { remoteAddress } = raw;
    raw.once("close", () => {
      timer.cancel();
      if (!this.#rising.delete(raw)) return;
      counters.handshakesFailed++;
      this.#uncount(remoteAddress);
    });
    this.#sockets.accept(raw, (socket) => {
      timer.cancel();
      if (this.#rising.delete(raw)) risen(socket);
    });
  }

  #adopt(socket: Socket, key: string, { closed, ...peer }: Peer): StreamConnection {
    const wildcard = isWildcard(this.address);
    const address = () => (wildcard ? (socket.localAddress ?? sourceAddress(peer.address)) : this.address);
    const connection: StreamConnection = new StreamConnection(
      socket,
      peer,
      { listener: this, address },
      {
        ...this.#deps,
        explain: this.#sockets.explain,
        closed: () => {
          for (const each of this.#keys.get(connection) ?? []) {
            if (this.#connections.get(each) === connection) this.#connections.delete(each);
          }
          this.#keys.delete(connection);
          closed();
        },
      },
    );
    this.#connections.set(key, connection);
    this.#keys.set(connection, [key]);
    return connection;
  }

  /**
   * A peer that offers it (`;alias` in its Via) and has proven by its certificate to be what listens at the port it names is
   * sent requests over the connection that it opened (RFC 5923).
   */
  #offerAlias(connection: StreamConnection, socket: Socket, { topVia }: SipMessage): void {
    if (!/;\s*alias\b/i.test(topVia.text)) return;
    const target = { address: connection.remoteAddress, port: topVia.port || defaultPort(this.protocol) };
    if (this.#sockets.proves(socket, target)) {
      this.#alias(connection, keyOf(target.address, target.port, this.#sockets.peerOf(target)));
    }
  }

  /** Gives a connection one more key, unless another one has that. */
  #alias(connection: StreamConnection, key: string): void {
    if (this.#connections.get(key)?.open) return;
    this.#connections.set(key, connection);
    this.#keys.get(connection)?.push(key);
  }

  #count(): void {
    this.#deps.counters.connections++;
    this.#deps.counters.connectionsOpened++;
  }

  /** `source`: of an accepted connection. */
  #uncount(source?: string): void {
    this.#deps.counters.connections--;
    if (source === undefined) return;
    const left = (this.#accepted.get(source) ?? 1) - 1;
    if (left === 0) this.#accepted.delete(source);
    else this.#accepted.set(source, left);
  }
}

/** The other end of a connection, and what the connection needs beside what all have. */
type Peer = StreamPeer & { readonly closed: () => void };

function keyOf(address: string, port: number, name: string): string {
  return `${normalAddress(address)} ${port} ${name}`;
}
