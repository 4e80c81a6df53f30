import { isToken } from "./chars.ts";
import { checkNameAddr } from "./name-addr.ts";
import type { SipMessage } from "./sip-message.ts";

/**
 * What is wrong with the headers the engine lives by, "" when nothing is (RFC 3261 sections 8.1.1, 8.2.2 and 16.3). The words
 * are fit for a reason phrase, and a closed set, fit to label a counter.
 */
export function faultOf(message: SipMessage): string {
  if (!message.topVia.wellFormed) return "Missing Or Malformed Via";
  if (!message.hasValidFrom) return "Missing Or Malformed From";
  if (!message.hasValidTo) return "Missing Or Malformed To";
  if (!isCallId(message.callId)) return "Missing Or Malformed Call-ID";
  if (message.cseq < 0) return "Missing Or Malformed CSeq";
  if (message.isRequest) {
    if (message.cseqMethod !== message.method) return "CSeq Method Mismatch";
  } else {
    return isToken(message.method) ? "" : "Missing Or Malformed CSeq";
  }
  const maxForwards = message.header("max-forwards");
  // RFC 2543 had no Max-Forwards, so its absence is forgiven.
  if (maxForwards !== undefined && message.maxForwards < 0) return "Malformed Max-Forwards";
  return hasGoodContacts(message) ? "" : "Malformed Contact";
}

/** One or two words: no separators that RFC 3261 section 25.1 callid leaves out. */
function isCallId(callId: string): boolean {
  for (let at = 0; at < callId.length; at++) {
    const c = callId.charCodeAt(at);
    if (c <= 32 || c === 44 || c === 59 || c === 61 || c === 124 || c >= 127) return false;
  }
  return callId.length > 0;
}

function hasGoodContacts(message: SipMessage): boolean {
  return message.headerValues("contact").every((value) => value === "*" || checkNameAddr(value));
}
