import { parseNameAddr } from "./name-addr.ts";
import { isToken } from "./params.ts";
import type { SipMessage } from "./sip-message.ts";

/**
 * What is wrong with the headers the engine lives by, "" when nothing is (RFC 3261 sections 8.1.1, 8.2.2 and 16.3). The words
 * are fit for a reason phrase, and a closed set, fit to label a counter.
 */
export function faultOf(message: SipMessage): string {
  if (message.topVia.text === "") return "Missing Or Malformed Via";
  const from = message.header("from");
  const to = message.header("to");
  if (from === undefined) return "Missing From";
  if (to === undefined) return "Missing To";
  if (message.callId === "") return "Missing Call-ID";
  if (!isCallId(message.callId)) return "Malformed Call-ID";
  if (message.cseq < 0) return "Missing Or Malformed CSeq";
  if (message.isRequest && message.cseqMethod !== message.method) return "CSeq Method Mismatch";
  if (!isToken(message.cseqMethod)) return "Missing Or Malformed CSeq";
  if (!isAddress(from)) return "Malformed From";
  if (!isAddress(to)) return "Malformed To";
  if (!message.isRequest) return "";
  const maxForwards = message.header("max-forwards");
  // RFC 2543 had no Max-Forwards, so its absence is forgiven.
  if (maxForwards !== undefined && message.maxForwards < 0) return "Malformed Max-Forwards";
  return hasGoodContacts(message) ? "" : "Malformed Contact";
}

function isAddress(value: string): boolean {
  const address = parseNameAddr(value);
  if (address === undefined) return false;
  const tag = address.param("tag");
  return tag === undefined || isToken(tag);
}

/** One or two words: no separators that RFC 3261 section 25.1 callid leaves out. */
function isCallId(callId: string): boolean {
  for (let at = 0; at < callId.length; at++) {
    const c = callId.charCodeAt(at);
    if (c <= 32 || c === 44 || c === 59 || c === 61 || c === 124 || c >= 127) return false;
  }
  return true;
}

function hasGoodContacts(message: SipMessage): boolean {
  return message.headerValues("contact").every((value) => value === "*" || parseNameAddr(value) !== undefined);
}
