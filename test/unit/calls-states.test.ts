import { describe, expect, it } from "vitest";
import { type CallEvent, type CallState, transitions } from "../../src/calls/call-states.ts";

const states = Object.keys(transitions) as CallState[];
const events = Object.keys(transitions.routing) as CallEvent[];

/** Every state that some chain of events leads to. */
function reachableFrom(start: CallState): Set<CallState> {
  const found = new Set([start]);
  for (const state of found) for (const event of events) found.add(transitions[state][event].next);
  return found;
}

describe("the states of a call", () => {
  it("are all reachable from the first", () => {
    expect([...reachableFrom("routing")].sort()).toEqual([...states].sort());
  });

  it.each(states)("lead to the end from %s", (state) => {
    expect(reachableFrom(state)).toContain("ended");
    expect(transitions[state].lost.next).toBe("ended");
  });

  it("stay ended once ended, and do nothing any more", () => {
    for (const event of events) expect(transitions.ended[event]).toEqual({ next: "ended", actions: [] });
  });

  it("become cancelled only before an answer", () => {
    const before = states.filter((state) => events.some((event) => transitions[state][event].next === "cancelled"));
    expect(before.sort()).toEqual(["cancelled", "ringing", "trying"]);
  });

  it("never go back before the answer once there was one", () => {
    for (const state of ["answered", "hung-up", "confirmed"] as const) {
      const later = reachableFrom(state);
      for (const early of ["routing", "trying", "ringing", "cancelled"] as const) expect(later).not.toContain(early);
    }
  });

  it("try no other agent after CANCEL, and refuse no caller twice", () => {
    for (const event of events) {
      expect(transitions.cancelled[event].actions).toEqual([]);
    }
  });

  it("hang up on exactly the other side of whoever hung up", () => {
    expect(transitions.confirmed["caller-bye"].actions).toEqual(["bye-agent"]);
    expect(transitions.confirmed["agent-bye"].actions).toEqual(["bye-caller"]);
    expect(transitions.confirmed.abort.actions).toEqual(["bye-agent", "bye-caller"]);
  });

  it("keep the caller's BYE back until its ACK (RFC 3261 section 15)", () => {
    expect(transitions.answered["agent-bye"]).toEqual({ next: "hung-up", actions: ["release-agent"] });
    expect(transitions["hung-up"].ack).toEqual({ next: "ended", actions: ["bye-caller"] });
  });
});
