import type { SipMessage } from "../message/sip-message.ts";

const pathHeaders = new Set(["via", "record-route", "route"]);

/**
 * A message as the application is shown it: header names in full (drachtio-srf knows few compact forms), values on one
 * line, Content-Length always there. Names with a percent sign are left out, because drachtio-srf would decode them. Unless
 * `whole`, so are the headers that tell the message's way: each one costs drachtio-srf as much as the engine's whole parse.
 */
export function appText(message: SipMessage, whole: boolean): string {
  let text = message.isRequest
    ? `${message.method} ${message.requestUri} SIP/2.0\r\n`
    : `SIP/2.0 ${message.status} ${message.reasonPhrase}\r\n`;
  message.eachHeader((lowerName, wireName, value) => {
    if (lowerName === "content-length" || wireName.includes("%")) return;
    if (whole || !pathHeaders.has(lowerName)) text += `${wireName}: ${value}\r\n`;
  });
  const { body } = message;
  return `${text}Content-Length: ${body.length}\r\n\r\n${body}`;
}
