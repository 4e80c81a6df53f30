import { type MalformedMessage, parseMessage, type SipMessage } from "../message/sip-message.ts";

/** How messages stand in the frames of a link. */
export interface Dialect {
  /** A response, or an ACK, as the application is shown it. */
  show(message: SipMessage): string;
  /**
   * A request that the application is to answer. `txnId`: of the request, or of what it cancels. `method`: in place of the
   * request's own.
   */
  showRequest(request: SipMessage, txnId: string, method?: string): string;
  /** A message that the engine has made itself. */
  showOwn(text: string): string;
  /** What tells the application that its request has been sent; undefined where nobody waits for that. */
  requestEcho(text: string): string | undefined;
  /** The same of its response to a request of this method. */
  responseEcho(text: string, status: number, method: string): string | undefined;
  /** What the application has written. */
  read(text: string): SipMessage | MalformedMessage;
}

/**
 * Messages as drachtio-srf knows them: header names in full (it knows few compact forms), values on one line, Content-Length
 * always there. Names with a percent sign are left out, because it would decode them.
 */
export const wholeDialect: Dialect = {
  show: (message) => whole(message, message.method),
  showRequest: (request, _txnId, method = request.method) => whole(request, method),
  showOwn: (text) => text,
  requestEcho: (text) => text,
  responseEcho: (text) => text,
  read: (text) => parseMessage(text, { lenient: true }),
};

function whole(message: SipMessage, method: string): string {
  let text = startLine(message, method);
  message.eachHeader((lowerName, wireName, value) => {
    if (lowerName !== "content-length" && !wireName.includes("%")) text += `${wireName}: ${value}\r\n`;
  });
  const { body } = message;
  return `${text}Content-Length: ${body.length}\r\n\r\n${body}`;
}

/**
 * Messages packed for an application on raw calls that unpacks them itself: header lines and body together stand as the body
 * of a message that has a start line and, as a request, a Call-ID. That is all drachtio-srf needs, and each header more
 * costs it as much as the engine's whole parse. Echoes are short, and only those that raw calls wait for.
 *
 * By the Call-ID drachtio-srf finds the INVITE that a CANCEL is for, and knows one INVITE under each at a time. Callers may
 * use one for several calls, so the transaction stands there.
 */
export const packedDialect: Dialect = {
  show: (message) => `${startLine(message, message.method)}\r\n${message.fields}`,
  showRequest: (request, txnId, method = request.method) =>
    `${startLine(request, method)}Call-ID: ${txnId}\r\n\r\n${request.fields}`,
  showOwn(text) {
    const end = text.indexOf("\r\n") + 2;
    return `${text.slice(0, end)}\r\n${text.slice(end)}`;
  },
  requestEcho(text) {
    if (text.startsWith("ACK ")) return undefined;
    const callId = text.indexOf("\r\nCall-ID: ");
    return `${text.slice(0, text.indexOf("\r\n"))}${text.slice(callId, text.indexOf("\r\n", callId + 2))}\r\n\r\n`;
  },
  responseEcho: (_text, status, method) =>
    method === "INVITE" && status >= 200 && status < 300 ? `SIP/2.0 ${status} Sent\r\n\r\n` : undefined,
  read: (text) => parseMessage(text, { lenient: true, packed: true }),
};

function startLine(message: SipMessage, method: string): string {
  return message.isRequest
    ? `${method} ${message.requestUri} SIP/2.0\r\n`
    : `SIP/2.0 ${message.status} ${message.reasonPhrase}\r\n`;
}
