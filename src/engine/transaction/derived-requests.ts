import { parseMessage, SipMessage } from "../message/sip-message.ts";

/**
 * The CANCEL of a request of ours: same Request-URI, top Via, Route, From, To, Call-ID and CSeq number (RFC 3261 section
 * 9.1). `headers`: whole lines to add.
 */
export const cancelFor = (requestText: string, headers = ""): string => hopByHop(requestText, "CANCEL", headers);

/** The ACK of a response of 300 or more, which goes to the next hop only: To is the response's (RFC 3261 section 17.1.1.3). */
export const ackForFailure = (requestText: string, response: SipMessage): string =>
  hopByHop(requestText, "ACK", "", response.header("to"));

function hopByHop(requestText: string, method: string, headers: string, to?: string): string {
  const request = parseMessage(requestText, { lenient: true });
  if (!(request instanceof SipMessage)) throw new TypeError("the request of a transaction must be a SIP message");
  const route = request
    .headers("route")
    .map((value) => `Route: ${value}\r\n`)
    .join("");
  return (
    `${method} ${request.requestUri} SIP/2.0\r\nVia: ${request.topVia.text}\r\n${route}Max-Forwards: 70\r\n` +
    `From: ${request.header("from")}\r\nTo: ${to ?? request.header("to")}\r\nCall-ID: ${request.callId}\r\n` +
    `CSeq: ${request.cseq} ${method}\r\n${headers}Content-Length: 0\r\n\r\n`
  );
}
