import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { familyOf, isWildcard, normalAddress, sourceAddress } from "./addresses.ts";
import { type StreamDeps, TcpConnection } from "./tcp-connection.ts";
import type { Target } from "./transport.ts";

/** One TCP address that is listened on, and the connections from and to it. */
export class TcpListener implements Target {
  readonly protocol = "tcp";
  readonly address: string;
  readonly #server: Server;
  readonly #deps: StreamDeps;
  /** By the peer's address and port; of two with the same peer (crossing connects) the younger. */
  readonly #connections = new Map<string, TcpConnection>();
  readonly #accepted = new Map<string, number>();
  #port: number;

  constructor(target: Target, deps: StreamDeps) {
    this.address = target.address;
    this.#port = target.port;
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
    for (const connection of [...this.#connections.values()]) connection.destroy();
    if (!this.#server.listening) return;
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The open connection with a peer, or a new one. */
  connectionTo(address: string, port: number): TcpConnection | undefined {
    const known = this.#connections.get(keyOf(address, port));
    if (known?.open) return known;
    if (this.#deps.counters.connections >= this.#deps.limits.connections) {
      this.#deps.counters.connectionsRefused++;
      return undefined;
    }
    // From the listener's own address: peers know us by it.
    const socket = isWildcard(this.address)
      ? connect({ host: address, port })
      : connect({ host: address, port, localAddress: this.address });
    return this.#adopt(socket, { address, port }, () => this.#release(address, false));
  }

  #accept(socket: Socket): void {
    const { remoteAddress, remotePort } = socket;
    // Gone before it was looked at.
    if (remoteAddress === undefined || remotePort === undefined) {
      socket.destroy();
      return;
    }
    const { counters, limits } = this.#deps;
    const fromThere = this.#accepted.get(remoteAddress) ?? 0;
    if (counters.connections >= limits.connections || fromThere >= limits.connectionsPerSource) {
      counters.connectionsRefused++;
      socket.destroy();
      return;
    }
    this.#accepted.set(remoteAddress, fromThere + 1);
    this.#adopt(socket, { address: remoteAddress, port: remotePort }, () => this.#release(remoteAddress, true));
  }

  #adopt(socket: Socket, peer: { address: string; port: number }, released: () => void): TcpConnection {
    const { counters } = this.#deps;
    counters.connections++;
    counters.connectionsOpened++;
    const key = keyOf(peer.address, peer.port);
    const wildcard = isWildcard(this.address);
    const address = () => (wildcard ? (socket.localAddress ?? sourceAddress(peer.address)) : this.address);
    const connection: TcpConnection = new TcpConnection(
      socket,
      peer,
      { listener: this, address },
      {
        ...this.#deps,
        closed: () => {
          if (this.#connections.get(key) === connection) this.#connections.delete(key);
          released();
        },
      },
    );
    this.#connections.set(key, connection);
    return connection;
  }

  #release(source: string, accepted: boolean): void {
    this.#deps.counters.connections--;
    if (!accepted) return;
    const left = (this.#accepted.get(source) ?? 1) - 1;
    if (left === 0) this.#accepted.delete(source);
    else this.#accepted.set(source, left);
  }
}

function keyOf(address: string, port: number): string {
  return `${normalAddress(address)} ${port}`;
}
