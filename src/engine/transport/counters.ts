/** What the transports have done since they started; plain numbers, read when somebody asks. */
export interface TransportCounters {
  messagesIn: number;
  messagesOut: number;
  bytesIn: number;
  bytesOut: number;
  /** Datagrams and stream input without content (RFC 5626 section 3.5.1). */
  keepAlives: number;
  /** Messages that could not be parsed, by reason (a closed set). */
  readonly malformed: Map<string, number>;
  /** Stream connections open now. */
  connections: number;
  connectionsOpened: number;
  /** Turned away at `connections` or `connectionsPerSource`. */
  connectionsRefused: number;
  /** Closed by us for what the peer did: garbage, too slow, never reading, idle. */
  connectionsClosed: number;
  /** Accepted connections whose TLS handshake came to nothing. */
  handshakesFailed: number;
  /** Times that changed certificates were taken into use. */
  certificatesReplaced: number;
  /** When the certificate in use ends; 0 without TLS. */
  certificateExpiryTimestampSeconds: number;
  /** UDP peers that have a socket of their own now. */
  watchedPeers: number;
  /** Failures reported to flows: unreachable peers, connections lost, messages the system would not send. */
  failures: number;
  /** Handlers that threw. */
  defects: number;
}

export function newCounters(): TransportCounters {
  return {
    messagesIn: 0,
    messagesOut: 0,
    bytesIn: 0,
    bytesOut: 0,
    keepAlives: 0,
    malformed: new Map(),
    connections: 0,
    connectionsOpened: 0,
    connectionsRefused: 0,
    connectionsClosed: 0,
    handshakesFailed: 0,
    certificatesReplaced: 0,
    certificateExpiryTimestampSeconds: 0,
    watchedPeers: 0,
    failures: 0,
    defects: 0,
  };
}

export function countMalformed(counters: TransportCounters, reason: string): void {
  counters.malformed.set(reason, (counters.malformed.get(reason) ?? 0) + 1);
}
