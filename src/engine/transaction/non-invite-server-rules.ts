import { ignored, type RowOf, type Rules } from "./rules.ts";

export type NonInviteServerState = "trying" | "proceeding" | "completed" | "terminated";

/** `request`: the request again. `1xx`, `2xx`, `3xx-6xx`: what the user answers. */
export type NonInviteServerEvent = "request" | "1xx" | "2xx" | "3xx-6xx" | "timer-J" | "transport-error";

export type NonInviteServerAction = "send-response" | "resend-response" | "report-transport-failure";

type Cell = RowOf<NonInviteServerState, NonInviteServerEvent, NonInviteServerAction>;

const progress: Cell = { next: "proceeding", actions: ["send-response"] };
const complete: Cell = { next: "completed", life: "J", actions: ["send-response"] };
const fail: Cell = { next: "terminated", actions: ["report-transport-failure"] };

/** The non-INVITE server transaction: RFC 3261 section 17.2.2, figure 8. */
export const nonInviteServerRules: Rules<NonInviteServerState, NonInviteServerEvent, NonInviteServerAction> = {
  begin: { next: "trying", actions: [] },
  table: {
    trying: {
      // Nothing has been answered yet, so there is nothing to repeat.
      request: ignored,
      "1xx": progress,
      "2xx": complete,
      "3xx-6xx": complete,
      "timer-J": ignored,
      "transport-error": fail,
    },
    proceeding: {
      request: { next: "proceeding", actions: ["resend-response"] },
      "1xx": progress,
      "2xx": complete,
      "3xx-6xx": complete,
      "timer-J": ignored,
      "transport-error": fail,
    },
    completed: {
      request: { next: "completed", actions: ["resend-response"] },
      // One final response only: what the user sends after it is dropped.
      "1xx": ignored,
      "2xx": ignored,
      "3xx-6xx": ignored,
      "timer-J": { next: "terminated", actions: [] },
      "transport-error": fail,
    },
  },
};
