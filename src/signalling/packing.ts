import { splitValues } from "../engine/message/params.ts";
import { parseMessage, SipMessage } from "../engine/message/sip-message.ts";
import { unjoined } from "./challenges.ts";
import type { Headers, Message } from "./port.ts";
import type { RawMessage } from "./raw-srf.ts";

/** How messages pass through drachtio-srf. */
export interface Packing {
  unpack(raw: RawMessage): Message;
  pack(headers: Headers, body: string): Message;
}

/** As drachtio-srf and drachtio-server mean it. */
export const unpacked: Packing = {
  unpack: (raw) => ({ headers: raw.headers, body: bodyOf(raw) }),
  pack: (headers, body) => ({ headers: oneContactALine(unjoined(headers)), body }),
};

/** drachtio-server puts its address in the place of `localhost` once in a line. */
function oneContactALine(headers: Headers): Headers {
  const contacts = headers.contact?.includes(",") ? splitValues(headers.contact) : [];
  return contacts.length > 1 ? { ...headers, contact: contacts.join("\r\ncontact: ") } : headers;
}

/** drachtio-srf cuts a body at its first empty line when the message has no Content-Length. */
function bodyOf(message: RawMessage): string {
  if (message.headers["content-length"] !== undefined || message.raw === undefined) return message.body ?? "";
  const end = message.raw.indexOf("\r\n\r\n");
  return end < 0 ? "" : message.raw.slice(end + 4);
}

const ofThePath = new Set(["via", "record-route", "route", "content-length"]);

/** As the engine's `packedDialect` has it: all but start line and Call-ID stands in the body. */
export const packed: Packing = {
  unpack({ raw = "" }) {
    const message = parseMessage(raw, { lenient: true, packed: true });
    if (!(message instanceof SipMessage)) throw new TypeError(`not a packed message: ${message.reason}`);
    const headers: Record<string, string> = {};
    message.eachHeader((lowerName, wireName, value) => {
      if (ofThePath.has(lowerName)) return;
      const name = wireName.startsWith("X-") ? wireName : lowerName;
      const before = headers[name];
      headers[name] = before === undefined ? value : `${before},${value}`;
    });
    return { headers, body: message.body };
  },
  pack(headers, body) {
    const fields = unjoined(headers);
    let lines = "";
    for (const name in fields) lines += `${name}: ${fields[name]}\r\n`;
    return { headers: {}, body: `${lines}\r\n${body}` };
  },
};
