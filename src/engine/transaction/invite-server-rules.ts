import { ignored, type Rules } from "./rules.ts";

export type InviteServerState = "proceeding" | "completed" | "confirmed" | "accepted" | "terminated";

/** `request`: the INVITE again. `1xx`, `2xx`, `3xx-6xx`: what the user answers. */
export type InviteServerEvent =
  | "request"
  | "ack"
  | "1xx"
  | "2xx"
  | "3xx-6xx"
  | "timer-G"
  | "timer-H"
  | "timer-I"
  | "timer-L"
  | "transport-error";

export type InviteServerAction =
  | "send-response"
  | "resend-response"
  | "pass-ack-up"
  | "report-no-ack"
  | "report-transport-failure";

/** The INVITE server transaction: RFC 3261 section 17.2.1, figure 7, as corrected by RFC 6026 section 7.1. */
export const inviteServerRules: Rules<InviteServerState, InviteServerEvent, InviteServerAction> = {
  begin: { next: "proceeding", actions: [] },
  table: {
    proceeding: {
      request: { next: "proceeding", actions: ["resend-response"] },
      ack: ignored,
      "1xx": { next: "proceeding", actions: ["send-response"] },
      "2xx": { next: "accepted", life: "L", actions: ["send-response"] },
      "3xx-6xx": { next: "completed", life: "H", repeat: "start", actions: ["send-response"] },
      "timer-G": ignored,
      "timer-H": ignored,
      "timer-I": ignored,
      "timer-L": ignored,
      // A lost connection does not end the transaction: the peer may come by another (RFC 6026 section 7.1).
      "transport-error": { next: "proceeding", actions: ["report-transport-failure"] },
    },
    completed: {
      request: { next: "completed", actions: ["resend-response"] },
      ack: { next: "confirmed", life: "I", repeat: "stop", actions: [] },
      "1xx": ignored,
      "2xx": ignored,
      "3xx-6xx": ignored,
      "timer-G": { next: "completed", repeat: "double-to-T2", actions: ["resend-response"] },
      "timer-H": { next: "terminated", actions: ["report-no-ack"] },
      "timer-I": ignored,
      "timer-L": ignored,
      "transport-error": { next: "completed", actions: ["report-transport-failure"] },
    },
    confirmed: {
      request: ignored,
      ack: ignored,
      "1xx": ignored,
      "2xx": ignored,
      "3xx-6xx": ignored,
      "timer-G": ignored,
      "timer-H": ignored,
      "timer-I": { next: "terminated", actions: [] },
      "timer-L": ignored,
      "transport-error": ignored,
    },
    accepted: {
      // The user repeats its 2xx by itself, so the INVITE again is answered by nothing (RFC 6026 section 7.1).
      request: ignored,
      ack: { next: "accepted", actions: ["pass-ack-up"] },
      "1xx": ignored,
      "2xx": { next: "accepted", actions: ["resend-response"] },
      "3xx-6xx": ignored,
      "timer-G": ignored,
      "timer-H": ignored,
      "timer-I": ignored,
      "timer-L": { next: "terminated", actions: [] },
      "transport-error": { next: "accepted", actions: ["report-transport-failure"] },
    },
  },
};
