import type { SipMessage } from "./sip-message.ts";

/** A message that cannot be processed, and what to do about it. */
export class MalformedMessage {
  constructor(
    /** The status to answer with (400, 413, 414, 416, 505, 513), or 0: say nothing. */
    readonly status: number,
    /** What is wrong, in words fit for a reason phrase. One of a closed set, so that it can label a counter. */
    readonly reason: string,
    /** As much of the message as could be read; present whenever `status` is not 0, and then enough to answer. */
    readonly partial?: SipMessage,
  ) {}
}
