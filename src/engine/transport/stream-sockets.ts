import { connect, type Socket } from "node:net";
import type { StreamTarget } from "./tls-peers.ts";

/** How the sockets of a stream protocol come up. What runs over them is the same for all of them. */
export interface StreamSockets {
  readonly protocol: "tcp" | "tls";
  /** What a socket opened by us emits once messages get through. */
  readonly up: "connect" | "secureConnect";
  open(target: StreamTarget, localAddress: string | undefined): Socket;
  /** Gives `then` the socket that messages come over; never when the peer does not get so far: then `raw` closes. */
  accept(raw: Socket, then: (socket: Socket) => void): void;
  /** Tells connections to one address apart that lead to different peers behind it. */
  peerOf(target: StreamTarget): string;
  /** Whether whoever opened `socket` has proven to be what listens at `target`. */
  proves(socket: Socket, target: StreamTarget): boolean;
  /** An error of a socket in words for people. */
  explain(error: Error): Error;
}

export const tcpSockets: StreamSockets = {
  protocol: "tcp",
  up: "connect",
  open: ({ address, port }, localAddress) => connect({ host: address, port, ...(localAddress && { localAddress }) }),
  accept: (raw, then) => then(raw),
  peerOf: () => "",
  // An address alone proves nothing: any program there could take the calls of another (RFC 5923 section 5).
  proves: () => false,
  explain: (error) => error,
};
