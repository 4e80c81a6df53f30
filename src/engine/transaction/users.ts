import type { SipMessage } from "../message/sip-message.ts";
import type { Flow } from "../transport/transport.ts";
import type { ServerTransaction } from "./server-transaction.ts";

/** The layer above, for what comes from the network unasked (RFC 3261 section 5: the transaction user). */
export interface TransactionUser {
  /** A new request, neither ACK nor CANCEL. INVITE has been answered by 100. */
  request(server: ServerTransaction): void;
  /** An ACK that acknowledges a 2xx, or nothing we know. */
  ack(request: SipMessage, flow: Flow): void;
  /** The caller gave up an INVITE without final response: 200 has been sent to the CANCEL, 487 is for the user to send. */
  cancel(invite: ServerTransaction, cancel: SipMessage): void;
  /** A response no client transaction waits for. A late 2xx to INVITE sets up a call that should be acknowledged and ended. */
  strayResponse?(response: SipMessage, flow: Flow): void;
}

/** Whoever sent a request. One of final response, `timeout` or `transportFailure` always ends it. */
export interface ClientTransactionUser {
  /** Every provisional response, 100 included, and the first final one; of a 2xx to INVITE each repeated or forked one too. */
  response(response: SipMessage, flow: Flow): void;
  /** No final response in time (timer B or F), or none within 64*T1 of our CANCEL. */
  timeout(): void;
  /** The request cannot reach the peer: nothing had been answered. */
  transportFailure(error: Error): void;
}

/** A request to be sent. */
export interface OutgoingRequest {
  readonly method: string;
  /** Of our Via, the first in `text`: begins with the magic cookie and is unique to the transaction. */
  readonly branch: string;
  /** The whole message as it goes on the wire. */
  readonly text: string;
}

/** A request on its way. */
export interface ClientTransaction {
  readonly method: string;
  readonly branch: string;
  /** The wire text of the request, until it has a final response; then "". */
  readonly text: string;
  /**
   * Sends CANCEL, held until the first provisional response (RFC 3261 section 9.1); its user still gets one end. Does
   * nothing to other methods than INVITE or after the final response. `headers`: whole lines to add, such as
   * "Reason: …\r\n".
   */
  cancel(headers?: string): void;
}
