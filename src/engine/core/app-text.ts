import type { SipMessage } from "../message/sip-message.ts";

/**
 * A message as the application is shown it: header names in full (drachtio-srf knows few compact forms), values on one
 * line, Content-Length always there. Names with a percent sign are left out, because drachtio-srf would decode them.
 */
export function appText(message: SipMessage): string {
  let text = message.isRequest
    ? `${message.method} ${message.requestUri} SIP/2.0\r\n`
    : `SIP/2.0 ${message.status} ${message.reasonPhrase}\r\n`;
  message.eachHeader((lowerName, wireName, value) => {
    if (lowerName !== "content-length" && !wireName.includes("%")) text += `${wireName}: ${value}\r\n`;
  });
  const { body } = message;
  return `${text}Content-Length: ${body.length}\r\n\r\n${body}`;
}
