import { describe, expect, it } from "vitest";
import { type CancelEvent, type CancelState, cancelRules } from "../../src/engine/transaction/cancel-rules.ts";
import {
  type InviteClientEvent,
  type InviteClientState,
  inviteClientRules,
} from "../../src/engine/transaction/invite-client-rules.ts";
import {
  type InviteServerEvent,
  type InviteServerState,
  inviteServerRules,
} from "../../src/engine/transaction/invite-server-rules.ts";
import {
  type NonInviteClientEvent,
  type NonInviteClientState,
  nonInviteClientRules,
} from "../../src/engine/transaction/non-invite-client-rules.ts";
import {
  type NonInviteServerEvent,
  type NonInviteServerState,
  nonInviteServerRules,
} from "../../src/engine/transaction/non-invite-server-rules.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { type Outcomes, outcomes, Probe } from "./engine-transaction-support.ts";

describe("the INVITE client machine (RFC 3261 figure 5, RFC 6026 figure 3)", () => {
  const paths = {
    calling: [],
    proceeding: ["1xx"],
    completed: ["3xx-6xx"],
    accepted: ["2xx"],
  } as const;

  it("does in every state what the RFCs say over UDP", () => {
    const expected: Outcomes<InviteClientState, InviteClientEvent> = {
      calling: {
        "1xx": "proceeding [0] stop-watching-flow, pass-up",
        "2xx": "accepted [1] stop-watching-flow, pass-up",
        "3xx-6xx": "completed [1] stop-watching-flow, send-ack, pass-up",
        "timer-A": "calling [2] resend-request",
        "timer-B": "terminated [0] report-timeout",
        "timer-D": "ignored",
        "timer-M": "ignored",
        "transport-error": "terminated [0] report-transport-failure",
        "give-up": "ignored",
      },
      proceeding: {
        "1xx": "proceeding [0] pass-up",
        "2xx": "accepted [1] pass-up",
        "3xx-6xx": "completed [1] send-ack, pass-up",
        "timer-A": "ignored",
        "timer-B": "ignored",
        "timer-D": "ignored",
        "timer-M": "ignored",
        "transport-error": "ignored",
        "give-up": "terminated [0] report-timeout",
      },
      completed: {
        "1xx": "ignored",
        "2xx": "completed [1] pass-stray",
        "3xx-6xx": "completed [1] note-repetition, send-ack",
        "timer-A": "ignored",
        "timer-B": "ignored",
        "timer-D": "terminated [0]",
        "timer-M": "ignored",
        "transport-error": "terminated [0]",
        "give-up": "ignored",
      },
      accepted: {
        "1xx": "ignored",
        "2xx": "accepted [1] note-repetition, pass-up",
        "3xx-6xx": "ignored",
        "timer-A": "ignored",
        "timer-B": "ignored",
        "timer-D": "ignored",
        "timer-M": "terminated [0]",
        "transport-error": "ignored",
        "give-up": "ignored",
      },
    };
    expect(outcomes(inviteClientRules, "A", paths, expected)).toEqual(expected);
  });

  it("does not linger for repeated failure responses over TCP", () => {
    const probe = new Probe(inviteClientRules, "A", true, new ManualClock());
    expect(probe.outcome("3xx-6xx")).toBe("terminated [0] stop-watching-flow, send-ack, pass-up");
  });

  it("lingers for forked 2xx over TCP all the same (RFC 6026 section 7.2)", () => {
    const probe = new Probe(inviteClientRules, "A", true, new ManualClock());
    expect(probe.outcome("2xx")).toBe("accepted [1] stop-watching-flow, pass-up");
  });
});

describe("the non-INVITE client machine (RFC 3261 figure 6)", () => {
  const paths = { trying: [], proceeding: ["1xx"], completed: ["2xx"] } as const;

  it("does in every state what the RFC says over UDP", () => {
    const expected: Outcomes<NonInviteClientState, NonInviteClientEvent> = {
      trying: {
        "1xx": "proceeding [2] pass-up",
        "2xx": "completed [1] stop-watching-flow, pass-up",
        "3xx-6xx": "completed [1] stop-watching-flow, pass-up",
        "timer-E": "trying [2] resend-request",
        "timer-F": "terminated [0] report-timeout",
        "timer-K": "ignored",
        "transport-error": "terminated [0] report-transport-failure",
      },
      proceeding: {
        "1xx": "proceeding [2] pass-up",
        "2xx": "completed [1] stop-watching-flow, pass-up",
        "3xx-6xx": "completed [1] stop-watching-flow, pass-up",
        "timer-E": "proceeding [2] resend-request",
        "timer-F": "terminated [0] report-timeout",
        "timer-K": "ignored",
        "transport-error": "terminated [0] report-transport-failure",
      },
      completed: {
        "1xx": "ignored",
        "2xx": "completed [1] note-repetition",
        "3xx-6xx": "completed [1] note-repetition",
        "timer-E": "ignored",
        "timer-F": "ignored",
        "timer-K": "terminated [0]",
        "transport-error": "ignored",
      },
    };
    expect(outcomes(nonInviteClientRules, "E", paths, expected)).toEqual(expected);
  });

  it("is over with the final response over TCP", () => {
    const probe = new Probe(nonInviteClientRules, "E", true, new ManualClock());
    expect(probe.outcome("2xx")).toBe("terminated [0] stop-watching-flow, pass-up");
  });
});

describe("the INVITE server machine (RFC 3261 figure 7, RFC 6026 figure 1)", () => {
  const paths = {
    proceeding: ["1xx"],
    completed: ["3xx-6xx"],
    confirmed: ["3xx-6xx", "ack"],
    accepted: ["2xx"],
  } as const;

  it("does in every state what the RFCs say over UDP", () => {
    const expected: Outcomes<InviteServerState, InviteServerEvent> = {
      proceeding: {
        request: "proceeding [0] resend-response",
        ack: "ignored",
        "1xx": "proceeding [0] send-response",
        "2xx": "accepted [1] send-response",
        "3xx-6xx": "completed [2] send-response",
        "timer-G": "ignored",
        "timer-H": "ignored",
        "timer-I": "ignored",
        "timer-L": "ignored",
        "transport-error": "proceeding [0] report-transport-failure",
      },
      completed: {
        request: "completed [2] resend-response",
        ack: "confirmed [1]",
        "1xx": "ignored",
        "2xx": "ignored",
        "3xx-6xx": "ignored",
        "timer-G": "completed [2] resend-response",
        "timer-H": "terminated [0] report-no-ack",
        "timer-I": "ignored",
        "timer-L": "ignored",
        "transport-error": "completed [2] report-transport-failure",
      },
      confirmed: {
        request: "ignored",
        ack: "ignored",
        "1xx": "ignored",
        "2xx": "ignored",
        "3xx-6xx": "ignored",
        "timer-G": "ignored",
        "timer-H": "ignored",
        "timer-I": "terminated [0]",
        "timer-L": "ignored",
        "transport-error": "ignored",
      },
      accepted: {
        request: "ignored",
        ack: "accepted [1] pass-ack-up",
        "1xx": "ignored",
        "2xx": "accepted [1] resend-response",
        "3xx-6xx": "ignored",
        "timer-G": "ignored",
        "timer-H": "ignored",
        "timer-I": "ignored",
        "timer-L": "terminated [0]",
        "transport-error": "accepted [1] report-transport-failure",
      },
    };
    expect(outcomes(inviteServerRules, "G", paths, expected)).toEqual(expected);
  });

  it("sends a failure response once over TCP, waits for its ACK, and is over with that", () => {
    const probe = new Probe(inviteServerRules, "G", true, new ManualClock());
    expect(probe.outcome("3xx-6xx")).toBe("completed [1] send-response");
    expect(probe.outcome("ack")).toBe("terminated [0]");
  });
});

describe("the non-INVITE server machine (RFC 3261 figure 8)", () => {
  const paths = { trying: [], proceeding: ["1xx"], completed: ["2xx"] } as const;

  it("does in every state what the RFC says over UDP", () => {
    const expected: Outcomes<NonInviteServerState, NonInviteServerEvent> = {
      trying: {
        request: "ignored",
        "1xx": "proceeding [0] send-response",
        "2xx": "completed [1] send-response",
        "3xx-6xx": "completed [1] send-response",
        "timer-J": "ignored",
        "transport-error": "terminated [0] report-transport-failure",
      },
      proceeding: {
        request: "proceeding [0] resend-response",
        "1xx": "proceeding [0] send-response",
        "2xx": "completed [1] send-response",
        "3xx-6xx": "completed [1] send-response",
        "timer-J": "ignored",
        "transport-error": "terminated [0] report-transport-failure",
      },
      completed: {
        request: "completed [1] resend-response",
        "1xx": "ignored",
        "2xx": "ignored",
        "3xx-6xx": "ignored",
        "timer-J": "terminated [0]",
        "transport-error": "terminated [0] report-transport-failure",
      },
    };
    expect(outcomes(nonInviteServerRules, "G", paths, expected)).toEqual(expected);
  });

  it("is over with the final response over TCP", () => {
    const probe = new Probe(nonInviteServerRules, "G", true, new ManualClock());
    expect(probe.outcome("2xx")).toBe("terminated [0] send-response");
  });
});

describe("the rules of CANCEL (RFC 3261 section 9.1)", () => {
  it("hold it until the first provisional response, and send it once", () => {
    const expected: Outcomes<CancelState, CancelEvent> = {
      unanswered: {
        cancel: "held",
        trying: "answering watch-silence",
        progress: "answering watch-silence",
        final: "terminated",
        silence: "ignored",
        "no-final": "ignored",
      },
      answering: {
        cancel: "sent send-cancel, watch-final",
        trying: "ignored",
        progress: "answering watch-silence",
        final: "terminated stop-watching",
        silence: "sent send-cancel, watch-final",
        "no-final": "ignored",
      },
      held: {
        cancel: "ignored",
        trying: "sent send-cancel, watch-final",
        progress: "sent send-cancel, watch-final",
        final: "terminated",
        silence: "ignored",
        "no-final": "ignored",
      },
      sent: {
        cancel: "ignored",
        trying: "ignored",
        progress: "ignored",
        final: "terminated stop-watching",
        silence: "ignored",
        "no-final": "terminated give-up",
      },
    };
    for (const [state, cells] of Object.entries(cancelRules.table)) {
      for (const [event, row] of Object.entries(cells)) {
        const outcome = row === "ignored" ? row : `${row.next} ${row.actions.join(", ")}`.trimEnd();
        expect({ state, event, outcome }).toEqual({
          state,
          event,
          outcome: expected[state as keyof typeof expected][event as CancelEvent],
        });
      }
    }
  });
});

describe("a machine that has terminated", () => {
  it("has let go of everything once, and ignores every event", () => {
    const clock = new ManualClock();
    const probe = new Probe(inviteClientRules, "A", false, clock);
    probe.outcome("timer-B");
    expect(probe.outcome("1xx")).toBe("ignored");
    expect(probe.outcome("timer-B")).toBe("ignored");
    expect({ ends: probe.ends, timers: clock.pending }).toEqual({ ends: 1, timers: 0 });
  });
});
