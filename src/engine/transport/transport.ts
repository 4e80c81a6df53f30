import type { MalformedMessage, SipMessage } from "../message/sip-message.ts";

export type { TlsPeer, TlsSettings } from "./tls-settings.ts";
export { Transports } from "./transports.ts";
export { stampVia } from "./via-stamp.ts";

export type Protocol = "udp" | "tcp" | "tls";

/** Where to listen or to send. */
export interface Target {
  readonly protocol: Protocol;
  /** Numeric IPv4 or IPv6 address, without brackets. */
  readonly address: string;
  /** 0 in a listening target: any free port. */
  readonly port: number;
  /** The name that the address was found by, for TLS to ask for and to check. */
  readonly name?: string;
}

/**
 * Whether ICMP errors are to be reported of a UDP peer, at the price of a socket for each: always, for which the peer used
 * longest ago gives way, or only while there is room.
 */
export type Watch = "always" | "if-room";

/** A path to one peer. */
export interface Flow {
  readonly protocol: Protocol;
  /** Whether the transport repeats what is lost, so that transactions need not. */
  readonly reliable: boolean;
  /** The listener's address, what goes into Via and Contact. Behind a wildcard listener: the one the route to the peer has. */
  readonly localAddress: string;
  readonly localPort: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
  /**
   * Sends one message (latin1 text). It is written when the running turn ends, at once outside a turn. It never throws:
   * what goes wrong reaches `onFailure`. UDP is not left for TCP when the message is longer than 1,300 bytes (RFC 3261
   * section 18.1.1): carriers' trunks are configured for one transport.
   */
  send(text: string): void;
  /**
   * Calls `listener` when the peer turns out to be unreachable: ICMP on a watched UDP flow, a connection refused, reset,
   * closed, or not made in time, a TLS handshake that failed, or a message the system would not send. Returns the way to stop listening.
   */
  onFailure(listener: FailureListener): () => void;
}

export type FailureListener = (error: Error) => void;

/** Who gets what arrives. Called in a turn, never from inside a socket's callback. */
export interface TransportHandlers {
  /** `bytes` is the length of the datagram or of the framed message. */
  message(message: SipMessage, flow: Flow, bytes: number): void;
  malformed(message: MalformedMessage, flow: Flow): void;
  /** One of the above threw: a defect of theirs, from which the other messages of the turn are shielded. */
  defect?(error: unknown): void;
}
