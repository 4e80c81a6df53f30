import { ignored, type Rules } from "./rules.ts";

/**
 * unanswered: no response yet; answering: a provisional has come; held: CANCEL is wanted and waits for the first
 * provisional; sent: CANCEL has gone out; terminated: the INVITE has its final response, or has been given up.
 */
export type CancelState = "unanswered" | "answering" | "held" | "sent" | "terminated";

/** `silence`: nothing further for the longest ringing time. `no-final`: 64*T1 have passed since our CANCEL. */
export type CancelEvent = "cancel" | "trying" | "progress" | "final" | "silence" | "no-final";

export type CancelAction = "watch-silence" | "send-cancel" | "watch-final" | "stop-watching" | "give-up";

/** When the CANCEL of our own INVITE goes out: RFC 3261 section 9.1. */
export const cancelRules: Rules<CancelState, CancelEvent, CancelAction> = {
  begin: { next: "unanswered", actions: [] },
  table: {
    unanswered: {
      // CANCEL waits for the first 1xx: it could overtake the INVITE.
      cancel: { next: "held", actions: [] },
      trying: { next: "answering", actions: ["watch-silence"] },
      progress: { next: "answering", actions: ["watch-silence"] },
      final: { next: "terminated", actions: [] },
      silence: ignored,
      "no-final": ignored,
    },
    answering: {
      cancel: { next: "sent", actions: ["send-cancel", "watch-final"] },
      // Only 101-199 show that someone is still at it, as with a proxy's Timer C (section 16.7 step 2).
      trying: ignored,
      progress: { next: "answering", actions: ["watch-silence"] },
      final: { next: "terminated", actions: ["stop-watching"] },
      silence: { next: "sent", actions: ["send-cancel", "watch-final"] },
      "no-final": ignored,
    },
    held: {
      cancel: ignored,
      trying: { next: "sent", actions: ["send-cancel", "watch-final"] },
      progress: { next: "sent", actions: ["send-cancel", "watch-final"] },
      final: { next: "terminated", actions: [] },
      silence: ignored,
      "no-final": ignored,
    },
    sent: {
      cancel: ignored,
      trying: ignored,
      progress: ignored,
      final: { next: "terminated", actions: ["stop-watching"] },
      silence: ignored,
      "no-final": { next: "terminated", actions: ["give-up"] },
    },
  },
};
