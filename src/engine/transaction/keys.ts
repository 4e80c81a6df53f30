import type { SipMessage } from "../message/sip-message.ts";

/** What every branch of RFC 3261 begins with (section 8.1.1.7). */
export const magicCookie = "z9hG4bK";

/**
 * The server transaction a request belongs to, method apart: INVITE, its ACK and its CANCEL share it. With the magic cookie
 * it is branch and sent-by; without, RFC 2543's Request-URI, From tag, Call-ID, CSeq number and Via (RFC 3261 section
 * 17.2.3; the To tag, which an ACK has and its INVITE lacks, is compared by the layer).
 */
export function inviteKey(request: SipMessage): string {
  const via = request.topVia;
  if (via.branch.startsWith(magicCookie)) return flat(`${via.branch} ${via.host} ${via.port}`);
  return flat(`${request.callId} ${request.cseq} ${request.fromTag} ${request.requestUri} ${via.text}`);
}

/** The server transaction of a request that is neither INVITE nor its ACK. */
export const requestKey = (request: SipMessage): string => flat(`${request.method} ${inviteKey(request)}`);

/** The same for every copy of a request that reaches us by different ways (RFC 3261 section 8.2.2.2). */
export const mergeKey = (request: SipMessage): string =>
  flat(`${request.callId} ${request.fromTag} ${request.cseq} ${request.method}`);

/**
 * Keys outlive their message by 32 s and more. Asking for a character makes V8 copy the joined text; else the key would
 * hold on to the whole datagram its pieces were cut from.
 */
function flat(key: string): string {
  key.charCodeAt(0);
  return key;
}
