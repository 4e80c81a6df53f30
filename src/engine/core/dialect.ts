import { type MalformedMessage, parseMessage, type SipMessage } from "../message/sip-message.ts";

/** How messages stand in the frames of a link. */
export interface Dialect {
  /** A message as the application is shown it. `method`: in place of the request's own. */
  show(message: SipMessage, method?: string): string;
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
  show(message, method) {
    let text = startLine(message, method);
    message.eachHeader((lowerName, wireName, value) => {
      if (lowerName !== "content-length" && !wireName.includes("%")) text += `${wireName}: ${value}\r\n`;
    });
    const { body } = message;
    return `${text}Content-Length: ${body.length}\r\n\r\n${body}`;
  },
  showOwn: (text) => text,
  requestEcho: (text) => text,
  responseEcho: (text) => text,
  read: (text) => parseMessage(text, { lenient: true }),
};

/**
 * Messages packed for an application on raw calls that unpacks them itself: header lines and body together stand as the body
 * of a message that has a start line and, as a request, its Call-ID. That is all drachtio-srf needs, and each header more
 * costs it as much as the engine's whole parse. Echoes are short, and only those that raw calls wait for.
 */
export const packedDialect: Dialect = {
  show(message, method) {
    const callId = message.isRequest ? `Call-ID: ${message.callId}\r\n` : "";
    return `${startLine(message, method)}${callId}\r\n${message.fields}`;
  },
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

function startLine(message: SipMessage, method = message.method): string {
  return message.isRequest
    ? `${method} ${message.requestUri} SIP/2.0\r\n`
    : `SIP/2.0 ${message.status} ${message.reasonPhrase}\r\n`;
}
