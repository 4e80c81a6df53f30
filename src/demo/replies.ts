import type { IncomingRequest } from "../signalling/port.ts";

/** A voice call in G.711 that nobody hears: the demo moves signalling only. */
export const sdp = [
  "v=0",
  "o=- 1 1 IN IP4 127.0.0.1",
  "s=-",
  "c=IN IP4 127.0.0.1",
  "t=0 0",
  "m=audio 40000 RTP/AVP 8 0",
  "a=rtpmap:8 PCMA/8000",
  "a=rtpmap:0 PCMU/8000",
  "",
].join("\r\n");

export const sdpHeaders = { "content-type": "application/sdp" };

/** Answers a request without a body. */
export function reply(request: IncomingRequest, status: number, reason: string): void {
  request.respond({ status, reason, headers: {}, body: "" });
}

/** Answers an INVITE with 200 and a session description. */
export function accept(request: IncomingRequest): void {
  request.respond({ status: 200, reason: "OK", headers: sdpHeaders, body: sdp });
}
