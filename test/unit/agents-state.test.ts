import { describe, expect, it } from "vitest";
import { AgentEvents } from "../../src/agents/agent-events.ts";
import type { AdminState, Evidence } from "../../src/agents/session-agent.ts";
import type { WeirError } from "../../src/errors.ts";
import { AgentBench, agentWith } from "../support/agents.ts";

const timeout: Evidence = { kind: "timeout", purpose: "traffic" };

describe("SEMANTICS 2, the state shown is the first that applies", () => {
  it("D before O before C before I", () => {
    const bench = new AgentBench({ "max-outbound-sessions": 1, "time-to-resume": 10 });
    const lease = bench.session();
    expect(bench.agent.letter).toBe("C");
    bench.agent.observe(timeout);
    expect(bench.agent.letter).toBe("O");
    bench.agent.setAdmin("disabled");
    expect(bench.agent.letter).toBe("D");
    bench.agent.setAdmin("enabled");
    expect(bench.agent.letter).toBe("O");
    bench.clock.advance(10_000);
    expect(bench.agent.letter).toBe("C");
    lease?.release("bye");
    expect(bench.story).toEqual([
      "I>C max-outbound-sessions",
      "C>O timeout",
      "O>D disabled",
      "D>O timeout",
      "O>C max-outbound-sessions",
      "C>I max-outbound-sessions",
    ]);
  });

  it("shows a draining agent as D, reason draining", () => {
    const bench = new AgentBench();
    bench.agent.setAdmin("draining");
    expect([bench.agent.letter, bench.agent.reason]).toEqual(["D", "draining"]);
    bench.agent.setAdmin("disabled");
    expect([bench.agent.letter, bench.agent.reason]).toEqual(["D", "disabled"]);
    bench.agent.setAdmin("enabled");
    expect(bench.story).toEqual(["I>D draining", "D>I enabled"]);
  });

  it.each(["draining", "disabled"] as const)("starts %s where it is so configured", (state) => {
    const bench = new AgentBench({ state });
    expect([bench.agent.letter, bench.agent.reason, bench.story]).toEqual(["D", state, []]);
    expect(bench.session()).toBeUndefined();
  });

  it.each([
    ["O", (bench: AgentBench) => bench.agent.observe(timeout)],
    ["D", (bench: AgentBench) => bench.agent.setAdmin("disabled")],
  ] as const)(
    "an agent that is %s gets no new session, but keeps those it has, in dialog requests included",
    (letter, put) => {
      const bench = new AgentBench({ "max-inbound-sessions": 1 });
      bench.session();
      put(bench);
      expect(bench.agent.admit({ direction: "outbound", method: "INVITE" })).toEqual({
        admitted: false,
        state: letter,
        exceeded: [],
      });
      expect(bench.request("REGISTER", "outbound")).toBeUndefined();
      expect(bench.request("INVITE", "outbound", { exempt: true })).toBeDefined();
      expect(bench.agent.outboundActive).toBe(1);
      // What comes from the agent is refused by its limits alone.
      expect([bench.session("inbound"), bench.session("inbound")]).toEqual([expect.anything(), undefined]);
    },
  );

  it("a reload changes the administrative state only where the configured one changed", () => {
    const bench = new AgentBench();
    const configured = (state: AdminState) => bench.agent.configure(agentWith({ state }));
    bench.agent.setAdmin("draining");
    configured("enabled");
    expect(bench.agent.admin).toBe("draining");
    configured("disabled");
    expect(bench.agent.admin).toBe("disabled");
    configured("enabled");
    expect(bench.agent.letter).toBe("I");
  });
});

describe("SEMANTICS 2, every transition raises exactly one event", () => {
  it("with reason, time, limit, value and maximum, the return to I included", () => {
    const bench = new AgentBench({ "max-burst-rate": 2 });
    bench.admitted(5);
    bench.clock.advance(5_000);
    const [to, back] = bench.changes;
    const at = bench.clock.dateOffset;
    expect(to).toEqual({
      hostname: "carrier-a",
      from: "I",
      to: "C",
      reason: "max-burst-rate",
      at: at + 60_000,
      limit: "max-burst-rate",
      value: 2,
      maximum: 2,
    });
    expect(back).toEqual({ ...to, from: "C", to: "I", at: at + 61_000, value: 0 });
    expect(bench.changes.length).toBe(2);
  });

  it("the return comes before an attempt that a late timer has not caught up with", () => {
    const bench = new AgentBench({ "max-burst-rate": 1 });
    bench.admitted(1);
    bench.clock.jump(1_000);
    expect(bench.agent.letter).toBe("I");
    expect(bench.admitted(2)).toBe(1);
    expect(bench.story).toEqual(["I>C max-burst-rate", "C>I max-burst-rate", "I>C max-burst-rate"]);
    bench.clock.advance(1_000);
    expect(bench.story.at(-1)).toBe("C>I max-burst-rate");
    expect(bench.story.length).toBe(4);
  });

  it("no timer is set while no limit is near", () => {
    const bench = new AgentBench({ "max-burst-rate": 5, "max-sustain-rate": 5, "max-sessions": 5, "min-asr": 10 });
    bench.admitted(3);
    expect(bench.clock.pending).toBe(0);
  });

  it("the reason shown follows the limit that holds the agent now", () => {
    const bench = new AgentBench({ "max-outbound-sessions": 1, "max-burst-rate": 1 });
    const lease = bench.session();
    expect(bench.agent.snapshot()).toMatchObject({
      reason: "max-outbound-sessions",
      constraint: ["max-outbound-sessions", "max-burst-rate"],
    });
    lease?.release("bye");
    expect([bench.agent.letter, bench.agent.reason]).toEqual(["C", "max-burst-rate"]);
    expect(bench.story).toEqual(["I>C max-outbound-sessions"]);
  });

  it("the last fifty are kept", () => {
    const bench = new AgentBench({ "max-outbound-sessions": 1 });
    for (let i = 0; i < 40; i++) bench.session()?.release("bye");
    expect(bench.changes.length).toBe(80);
    const { transitions } = bench.agent.snapshot();
    expect(transitions.length).toBe(50);
    expect(transitions.at(-1)).toMatchObject({ from: "C", to: "I", at: "2023-11-14T22:14:20.000Z" });
  });
});

describe("agent events", () => {
  it("survive a listener that throws, which becomes a defect", () => {
    const events = new AgentEvents();
    const heard: string[] = [];
    const defects: WeirError[] = [];
    events.on("limit-exceeded", () => {
      throw new Error("out of paper");
    });
    events.on("limit-exceeded", (hostname) => heard.push(hostname));
    events.on("defect", (error) => defects.push(error));
    events.announce("limit-exceeded", "carrier-a", { limit: "max-sessions", value: 1, maximum: 1 });
    expect(heard).toEqual(["carrier-a"]);
    expect(defects.map(({ code, detail, cause }) => [code, detail, cause])).toEqual([
      ["WEIR_LISTENER_THREW", { event: "limit-exceeded" }, new Error("out of paper")],
    ]);
  });

  it("count defects whose own listener threw", () => {
    const events = new AgentEvents();
    events.on("defect", () => {
      throw new Error("again");
    });
    events.on("limit-exceeded", () => {
      throw new Error("out of paper");
    });
    events.announce("limit-exceeded", "carrier-a", { limit: "max-sessions", value: 1, maximum: 1 });
    expect(events.lostDefects).toBe(1);
  });

  it("call a listener added by once a single time", () => {
    const events = new AgentEvents();
    let calls = 0;
    events.once("limit-exceeded", () => calls++);
    for (let i = 0; i < 3; i++) {
      events.announce("limit-exceeded", "carrier-a", { limit: "max-sessions", value: 1, maximum: 1 });
    }
    expect(calls).toBe(1);
  });
});

describe("the snapshot", () => {
  it("shows what DESIGN section 6 asks for", () => {
    const bench = new AgentBench({
      "max-sessions": 9,
      "max-outbound-sessions": 7,
      "max-burst-rate": 20,
      "min-asr": 30,
      "realm-id": "core",
      port: 5071,
    });
    bench.session()?.answered();
    bench.session("inbound");
    bench.clock.advance(500);
    bench.agent.observe(timeout);
    bench.clock.advance(500);
    expect(bench.agent.snapshot()).toMatchObject({
      hostname: "carrier-a",
      address: "192.0.2.1:5071",
      transport: "UDP",
      realm: "core",
      state: { letter: "O", word: "out-of-service" },
      reason: "timeout",
      since: "2023-11-14T22:14:20.500Z",
      admin: "enabled",
      health: "out-of-service",
      constraint: [],
      sessions: {
        inbound: { active: 1, maximum: 0 },
        outbound: { active: 1, maximum: 7 },
        total: { active: 2, maximum: 9 },
      },
      rates: {
        burst: {
          total: { value: 0, maximum: 20 },
          inbound: { value: 0, maximum: 0 },
          outbound: { value: 0, maximum: 0 },
        },
        sustain: { total: { value: 2 / 31, maximum: 0 } },
      },
      asr: { ratio: 100, answered: 1, attempts: 1, minimum: 30 },
      exceeded: {},
      totals: { inbound: 1, outbound: 1, answered: 1 },
      lastPing: null,
      resumeAt: "2023-11-14T22:14:50.500Z",
      transitions: [{ from: "I", to: "O", reason: "timeout", at: "2023-11-14T22:14:20.500Z" }],
    });
  });

  it("writes an IPv6 address in brackets, and the name where there is no address", () => {
    expect(new AgentBench({ "ip-address": "2001:db8::1" }).agent.snapshot().address).toBe("[2001:db8::1]:5060");
    expect(new AgentBench({ "ip-address": "" }).agent.snapshot().address).toBe("carrier-a:5060");
  });

  it("says when a limit that only time can lift will be lifted", () => {
    const bench = new AgentBench({ "max-burst-rate": 1 });
    bench.admitted(1);
    expect(bench.agent.snapshot().resumeAt).toBe("2023-11-14T22:14:21.000Z");
  });
});

describe("an agent that must register us", () => {
  const needs = { aor: "u", "contact-user": "", expires: 60, "retry-interval": 1 };

  it("is out of service with that reason until it has, and again once the registration is lost", () => {
    const bench = new AgentBench({ "surrogate-registration": needs });
    expect([bench.agent.letter, bench.agent.reason, bench.agent.registered]).toEqual(["O", "registration", false]);
    expect(bench.session()).toBeUndefined();
    expect(bench.agent.resumeAt).toBeUndefined();
    bench.clock.advance(1_000);
    bench.agent.setRegistered(true, 200);
    bench.agent.setRegistered(true, 200);
    expect(bench.session()).toBeDefined();
    bench.clock.advance(1_000);
    bench.agent.setRegistered(false, 403);
    expect(bench.story).toEqual(["O>I registered", "I>O registration"]);
    expect(bench.changes.at(-1)).toMatchObject({ status: 403 });
    expect(bench.agent.snapshot()).toMatchObject({ registered: false, reason: "registration" });
  });

  it("comes back by no timer, and shows what else is wrong once it is registered", () => {
    const bench = new AgentBench({ "surrogate-registration": needs, "time-to-resume": 5 });
    bench.agent.observe({ kind: "transport-failure", purpose: "traffic", detail: "refused" });
    bench.clock.advance(1_000);
    bench.agent.setRegistered(true);
    expect([bench.agent.letter, bench.agent.reason]).toEqual(["O", "transport-failure"]);
    bench.clock.advance(10_000);
    expect(bench.agent.letter).toBe("I");
    bench.agent.setRegistered(false);
    bench.clock.advance(60_000);
    expect(bench.agent.letter).toBe("O");
  });

  it("needs it from the moment that it is configured so, and no more once it is not", () => {
    const bench = new AgentBench();
    expect([bench.agent.letter, bench.agent.registered]).toEqual(["I", undefined]);
    bench.agent.configure(agentWith({ "surrogate-registration": needs }));
    expect(bench.agent.letter).toBe("O");
    bench.agent.configure(agentWith());
    expect(bench.agent.letter).toBe("I");
  });
});
