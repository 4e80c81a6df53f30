import type { Ms } from "../../clock.ts";

/** Caps that keep any peer from taking more than its part of this process. */
export interface TransportLimits {
  /**
   * UDP peers watched for ICMP by a socket of their own. All these sockets share one port, and the system looks through them
   * at each bind and, before Linux 6.13, at each datagram: with many, both cost more than a lost call does.
   */
  readonly watchedPeers: number;
  /** Stream connections, those to and those from peers. */
  readonly connections: number;
  /** Stream connections accepted from one address. */
  readonly connectionsPerSource: number;
  /** Bytes a stream peer may leave unread before its connection is closed. */
  readonly unreadBytes: number;
  /** The longest a connection may take to come up. */
  readonly connectTimeout: Ms;
  /** The longest a stream message may take from its first byte to its last. */
  readonly messageTimeout: Ms;
  /** A connection that carried nothing for so long is closed. */
  readonly idleTimeout: Ms;
}

export const defaultLimits: TransportLimits = {
  watchedPeers: 1_024,
  connections: 10_000,
  connectionsPerSource: 2_000,
  unreadBytes: 1_048_576,
  connectTimeout: 4_000,
  messageTimeout: 30_000,
  // Far above the 32 s that RFC 3261 section 18 asks for, below the memory that dead peers would cost.
  idleTimeout: 3_600_000,
};
