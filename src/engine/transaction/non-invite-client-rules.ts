import { ignored, type RowOf, type Rules } from "./rules.ts";

export type NonInviteClientState = "trying" | "proceeding" | "completed" | "terminated";

export type NonInviteClientEvent = "1xx" | "2xx" | "3xx-6xx" | "timer-E" | "timer-F" | "timer-K" | "transport-error";

export type NonInviteClientAction =
  | "send-request"
  | "resend-request"
  | "pass-up"
  | "note-repetition"
  | "report-timeout"
  | "report-transport-failure"
  | "stop-watching-flow";

type Cell = RowOf<NonInviteClientState, NonInviteClientEvent, NonInviteClientAction>;

const progress: Cell = { next: "proceeding", actions: ["pass-up"] };
const complete: Cell = { next: "completed", life: "K", repeat: "stop", actions: ["stop-watching-flow", "pass-up"] };
const repeated: Cell = { next: "completed", actions: ["note-repetition"] };
const timeOut: Cell = { next: "terminated", actions: ["report-timeout"] };
const fail: Cell = { next: "terminated", actions: ["report-transport-failure"] };

/** The non-INVITE client transaction: RFC 3261 section 17.1.2, figure 6. */
export const nonInviteClientRules: Rules<NonInviteClientState, NonInviteClientEvent, NonInviteClientAction> = {
  begin: { next: "trying", life: "F", repeat: "start", actions: ["send-request"] },
  table: {
    trying: {
      "1xx": progress,
      "2xx": complete,
      "3xx-6xx": complete,
      "timer-E": { next: "trying", repeat: "double-to-T2", actions: ["resend-request"] },
      "timer-F": timeOut,
      "timer-K": ignored,
      "transport-error": fail,
    },
    proceeding: {
      "1xx": progress,
      "2xx": complete,
      "3xx-6xx": complete,
      "timer-E": { next: "proceeding", repeat: "at-T2", actions: ["resend-request"] },
      "timer-F": timeOut,
      "timer-K": ignored,
      "transport-error": fail,
    },
    completed: {
      "1xx": ignored,
      "2xx": repeated,
      "3xx-6xx": repeated,
      "timer-E": ignored,
      "timer-F": ignored,
      "timer-K": { next: "terminated", actions: [] },
      "transport-error": ignored,
    },
  },
};
