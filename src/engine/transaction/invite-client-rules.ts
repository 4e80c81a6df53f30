import { ignored, type Rules } from "./rules.ts";

export type InviteClientState = "calling" | "proceeding" | "completed" | "accepted" | "terminated";

/** `give-up`: no final response within 64*T1 of our CANCEL (RFC 3261 section 9.1). */
export type InviteClientEvent =
  | "1xx"
  | "2xx"
  | "3xx-6xx"
  | "timer-A"
  | "timer-B"
  | "timer-D"
  | "timer-M"
  | "transport-error"
  | "give-up";

export type InviteClientAction =
  | "send-request"
  | "resend-request"
  | "send-ack"
  | "pass-up"
  | "note-repetition"
  | "pass-stray"
  | "report-timeout"
  | "report-transport-failure"
  | "stop-watching-flow";

/** The INVITE client transaction: RFC 3261 section 17.1.1, figure 5, as corrected by RFC 6026 section 7.2. */
export const inviteClientRules: Rules<InviteClientState, InviteClientEvent, InviteClientAction> = {
  begin: { next: "calling", life: "B", repeat: "start", actions: ["send-request"] },
  table: {
    calling: {
      "1xx": { next: "proceeding", life: "none", repeat: "stop", actions: ["stop-watching-flow", "pass-up"] },
      "2xx": { next: "accepted", life: "M", repeat: "stop", actions: ["stop-watching-flow", "pass-up"] },
      "3xx-6xx": {
        next: "completed",
        life: "D",
        repeat: "stop",
        actions: ["stop-watching-flow", "send-ack", "pass-up"],
      },
      "timer-A": { next: "calling", repeat: "double", actions: ["resend-request"] },
      "timer-B": { next: "terminated", actions: ["report-timeout"] },
      "timer-D": ignored,
      "timer-M": ignored,
      "transport-error": { next: "terminated", actions: ["report-transport-failure"] },
      "give-up": ignored,
    },
    proceeding: {
      "1xx": { next: "proceeding", actions: ["pass-up"] },
      "2xx": { next: "accepted", life: "M", actions: ["pass-up"] },
      "3xx-6xx": { next: "completed", life: "D", actions: ["send-ack", "pass-up"] },
      "timer-A": ignored,
      "timer-B": ignored,
      "timer-D": ignored,
      "timer-M": ignored,
      // The peer has the request; its final response may come by another connection (RFC 3261 section 18.2.2).
      "transport-error": ignored,
      "give-up": { next: "terminated", actions: ["report-timeout"] },
    },
    completed: {
      "1xx": ignored,
      // A forking proxy may pass on a late 2xx after its failure response (RFC 3261 section 16.7 step 5).
      "2xx": { next: "completed", actions: ["pass-stray"] },
      "3xx-6xx": { next: "completed", actions: ["note-repetition", "send-ack"] },
      "timer-A": ignored,
      "timer-B": ignored,
      "timer-D": { next: "terminated", actions: [] },
      "timer-M": ignored,
      // The user has its final response already: nothing to report.
      "transport-error": { next: "terminated", actions: [] },
      "give-up": ignored,
    },
    accepted: {
      "1xx": ignored,
      // Retransmitted and forked 2xx are the user's to acknowledge (RFC 6026 section 7.2).
      "2xx": { next: "accepted", actions: ["note-repetition", "pass-up"] },
      "3xx-6xx": ignored,
      "timer-A": ignored,
      "timer-B": ignored,
      "timer-D": ignored,
      "timer-M": { next: "terminated", actions: [] },
      "transport-error": ignored,
      "give-up": ignored,
    },
  },
};
