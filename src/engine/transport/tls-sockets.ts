import type { Socket } from "node:net";
import { connect, createServer, type Server, TLSSocket } from "node:tls";
import type { StreamSockets } from "./stream-sockets.ts";
import type { TlsCredentials } from "./tls-credentials.ts";
import { type StreamTarget, serverName } from "./tls-peers.ts";

/** The sockets of one TLS listener. */
export class TlsSockets implements StreamSockets {
  readonly protocol = "tls";
  readonly up = "secureConnect";
  readonly #credentials: TlsCredentials;
  /** It never listens: connections are put into it once they were let in. */
  readonly #server: Server;
  /** By the peer's address and port: who waits for its handshake. */
  readonly #shaking = new Map<string, (socket: Socket) => void>();

  constructor(credentials: TlsCredentials) {
    const { clientCertificate } = credentials.settings;
    this.#credentials = credentials;
    this.#server = createServer({
      requestCert: clientCertificate !== "none",
      rejectUnauthorized: clientCertificate === "require",
    });
    this.#server.on("secureConnection", (socket) => {
      const then = this.#shaking.get(keyOf(socket));
      if (then) then(socket);
      else socket.destroy();
    });
    credentials.use((options) => this.#server.setSecureContext(options));
  }

  open(target: StreamTarget, localAddress: string | undefined): Socket {
    const { address: host, port } = target;
    const { peers, client } = this.#credentials;
    const servername = serverName(peers.nameOf(target));
    return connect({
      host,
      port,
      ...(localAddress && { localAddress }),
      ...(servername && { servername }),
      ...(client && { secureContext: client }),
      rejectUnauthorized: peers.mustProve(target),
      checkServerIdentity: (_, certificate) => peers.mismatch(target, certificate),
    });
  }

  accept(raw: Socket, then: (socket: Socket) => void): void {
    const key = keyOf(raw);
    this.#shaking.set(key, then);
    raw.once("close", () => this.#shaking.delete(key));
    this.#server.emit("connection", raw);
  }

  peerOf(target: StreamTarget): string {
    return this.#credentials.peers.keyOf(target);
  }

  proves(socket: Socket, target: StreamTarget): boolean {
    if (!(socket instanceof TLSSocket) || !socket.authorized) return false;
    return this.#credentials.peers.mismatch(target, socket.getPeerCertificate()) === undefined;
  }

  explain(error: Error): Error {
    // The system's own errors are clear as they are; of OpenSSL's, `reason` is the part for people.
    if ("syscall" in error) return error;
    // Node 24 goes on with advice on its own command line.
    const reason = "reason" in error ? String(error.reason) : error.message.split("; ", 1)[0];
    return new Error(`TLS: ${reason}`, { cause: error });
  }
}

const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
