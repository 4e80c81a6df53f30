/** What a transaction layer has done since it was made. Only ever goes up. */
export interface TransactionCounters {
  clientTransactions: number;
  serverTransactions: number;
  /** Requests and responses sent again by timers A, E, G, or because the peer repeated its request. */
  retransmissionsSent: number;
  /** Requests and final responses that had been received before. */
  retransmissionsReceived: number;
  /** Client transactions ended by timer B or F, or without final response after CANCEL. */
  timeouts: number;
  /** Client transactions ended, and server transactions struck, by a failure of the transport. */
  transportFailures: number;
  /** Timer H: a response of 300 or more to INVITE that was never acknowledged. */
  missingAcks: number;
  /** Responses that belong to no transaction, or come after its end. */
  strayResponses: number;
  /** CANCEL requests that matched nothing. */
  strayCancels: number;
  /** Requests refused by 482 because they reached us by two ways (RFC 3261 section 8.2.2.2). */
  mergedRequests: number;
  /** New requests refused by 503 because their source, or all together, had too many transactions. */
  cappedRequests: number;
}

export const newCounters = (): TransactionCounters => ({
  clientTransactions: 0,
  serverTransactions: 0,
  retransmissionsSent: 0,
  retransmissionsReceived: 0,
  timeouts: 0,
  transportFailures: 0,
  missingAcks: 0,
  strayResponses: 0,
  strayCancels: 0,
  mergedRequests: 0,
  cappedRequests: 0,
});
