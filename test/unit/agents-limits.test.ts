import { describe, expect, it } from "vitest";
import type { AgentParams } from "../../src/agents/params.ts";
import type { Direction } from "../../src/agents/session-agent.ts";
import { AgentBench, rates } from "../support/agents.ts";

type Params = Partial<AgentParams>;
const directions: readonly Direction[] = ["inbound", "outbound"];
const other = (direction: Direction): Direction => (direction === "inbound" ? "outbound" : "inbound");

describe("SEMANTICS 3, concurrent sessions", () => {
  it.each([
    { limit: "max-sessions", takes: ["inbound", "outbound"] },
    { limit: "max-inbound-sessions", takes: ["inbound"] },
    { limit: "max-outbound-sessions", takes: ["outbound"] },
  ] as const)("$limit: N-1 is in service, N is C, N + 1 is refused, and N - 1 has room again", ({ limit, takes }) => {
    for (const direction of takes) {
      const bench = new AgentBench({ [limit]: 3 });
      const leases = [bench.session(direction), bench.session(direction)];
      expect(bench.agent.letter).toBe("I");
      leases.push(bench.session(direction));
      expect(bench.agent.letter).toBe("C");
      expect(bench.session(direction)).toBeUndefined();
      expect(bench.exceeded).toEqual([{ limit, value: 3, maximum: 3 }]);
      leases[0]?.release("bye");
      expect(bench.agent.letter).toBe("I");
      expect(bench.session(direction)).toBeDefined();
    }
  });

  it("max-sessions counts both directions together", () => {
    const bench = new AgentBench({ "max-sessions": 2 });
    expect([bench.session("inbound"), bench.session("outbound")]).not.toContain(undefined);
    expect(directions.map((direction) => bench.session(direction))).toEqual([undefined, undefined]);
  });

  it("max-outbound-sessions refuses no session from the agent", () => {
    const bench = new AgentBench({ "max-outbound-sessions": 1 });
    bench.session("outbound");
    expect(bench.session("inbound")).toBeDefined();
  });

  it("max-inbound-sessions shows C, and so keeps new sessions off the agent too", () => {
    const bench = new AgentBench({ "max-inbound-sessions": 1 });
    bench.session("inbound");
    expect(bench.agent.admit({ direction: "outbound", method: "INVITE" })).toMatchObject({
      admitted: false,
      state: "C",
      exceeded: [{ limit: "max-inbound-sessions" }],
    });
  });
});

describe("SEMANTICS 3, burst rate", () => {
  it.each([
    { limit: "max-burst-rate", takes: directions },
    { limit: "max-inbound-burst-rate", takes: ["inbound"] },
    { limit: "max-outbound-burst-rate", takes: ["outbound"] },
  ] as const)("$limit: rate × burst-rate-window attempts in a fixed window, again in the next", ({ limit, takes }) => {
    for (const direction of takes) {
      const bench = new AgentBench({ [limit]: 5, "burst-rate-window": 2 });
      expect(bench.admitted(15, direction)).toBe(10);
      expect(bench.agent.letter).toBe("C");
      bench.clock.advance(1_999);
      expect(bench.session(direction)).toBeUndefined();
      bench.clock.advance(1);
      expect(bench.agent.letter).toBe("I");
      expect(bench.admitted(15, direction)).toBe(10);
    }
  });

  it("windows are aligned to the clock, not to the first call", () => {
    const bench = new AgentBench({ "max-burst-rate": 4 }, 60_900);
    expect(bench.admitted(5)).toBe(4);
    bench.clock.advance(100);
    expect(bench.admitted(5)).toBe(4);
  });

  it("max-inbound-burst-rate leaves the other direction's own window alone", () => {
    const bench = new AgentBench({ "max-inbound-burst-rate": 2, "max-outbound-burst-rate": 2 });
    bench.admitted(1, "outbound");
    expect(bench.admitted(5, "inbound")).toBe(2);
  });

  it("a product that is no whole number in binary is not rounded up to one more", () => {
    expect(new AgentBench({ "max-burst-rate": 0.1, "burst-rate-window": 30 }).admitted(9)).toBe(3);
  });

  it("a clock that jumps back neither goes negative nor stops counting", () => {
    const bench = new AgentBench({ "max-burst-rate": 5, "max-sustain-rate": 5 });
    bench.admitted(3);
    bench.clock.jump(-3_600_000);
    expect(bench.agent.snapshot().rates.burst.total.value).toBe(3);
    expect(bench.agent.outboundSustainRate).toBeGreaterThanOrEqual(0);
    expect(bench.admitted(9)).toBe(2);
    bench.clock.advance(1_000);
    expect(bench.admitted(9)).toBe(5);
  });

  it("a window of 0 s is taken for the default", () => {
    expect(new AgentBench({ "max-burst-rate": 7, "burst-rate-window": 0 }).admitted(9)).toBe(7);
  });
});

describe("SEMANTICS 3, sustained rate", () => {
  it.each([
    { limit: "max-sustain-rate", takes: directions },
    { limit: "max-inbound-sustain-rate", takes: ["inbound"] },
    { limit: "max-outbound-sustain-rate", takes: ["outbound"] },
  ] as const)("$limit: the average over one to two windows, one more included, stays within it", ({ limit, takes }) => {
    for (const direction of takes) {
      const bench = new AgentBench({ [limit]: 2, "sustain-rate-window": 10 });
      // Start of a window, nothing before it: n + 1 ≤ 2 × 10.
      expect(bench.admitted(50, direction)).toBe(20);
      expect(bench.agent.letter).toBe("C");
      // Each half second makes room for one.
      bench.clock.advance(499);
      expect(bench.agent.letter).toBe("C");
      bench.clock.advance(1);
      expect(bench.agent.letter).toBe("I");
      expect(bench.admitted(5, direction)).toBe(1);
      // 21 before, none now: 21 + n + 1 ≤ 2 × (10 + 0).
      bench.clock.advance(9_500);
      expect(bench.admitted(5, direction)).toBe(0);
      bench.clock.advance(1_000);
      expect(bench.admitted(5, direction)).toBe(1);
      // Two windows on, all is forgotten.
      bench.clock.advance(19_000);
      expect(bench.admitted(50, direction)).toBe(20);
    }
  });

  it("turns to C at the end of a window by itself when the average then forgets a quieter one", () => {
    const bench = new AgentBench({ "max-sustain-rate": 1, "sustain-rate-window": 10 });
    bench.clock.advance(9_000);
    expect(bench.admitted(50)).toBe(19);
    expect(bench.story).toEqual(["I>C max-sustain-rate"]);
    bench.clock.advance(500);
    expect(bench.agent.letter).toBe("C");
    const calm = new AgentBench({ "max-sustain-rate": 1, "sustain-rate-window": 10 });
    calm.clock.advance(9_000);
    expect(calm.admitted(15)).toBe(15);
    expect(calm.story).toEqual([]);
    calm.clock.advance(1_000);
    expect(calm.story).toEqual(["I>C max-sustain-rate"]);
    expect(calm.changes[0]).toMatchObject({ limit: "max-sustain-rate", value: 1.6, maximum: 1 });
    calm.clock.advance(6_000);
    expect(calm.story).toEqual(["I>C max-sustain-rate", "C>I max-sustain-rate"]);
  });
});

describe("SEMANTICS 3, min-asr and min-seizures", () => {
  const params: Params = { "min-asr": 50, "min-seizures": 4, "sustain-rate-window": 60, "time-to-resume": 4 };
  const answered = (bench: AgentBench, count: number) => {
    for (let i = 0; i < count; i++) {
      const lease = bench.session();
      lease?.answered();
      lease?.release("bye");
    }
  };

  it("no answer yet: min-seizures + 1 attempts", () => {
    const bench = new AgentBench(params);
    expect(bench.admitted(4)).toBe(4);
    expect(bench.agent.letter).toBe("I");
    expect(bench.admitted(4)).toBe(1);
    expect(bench.changes[0]).toMatchObject({ to: "C", limit: "min-asr", value: 0, maximum: 50 });
  });

  it("8 of 8 answered, then none: 8 of 16 is enough, 8 of 17 is not", () => {
    const bench = new AgentBench(params);
    answered(bench, 8);
    expect(bench.admitted(8)).toBe(8);
    expect(bench.agent.letter).toBe("I");
    expect(bench.admitted(8)).toBe(1);
    expect(bench.agent.letter).toBe("C");
  });

  it("a ratio is not judged before min-seizures attempts", () => {
    const bench = new AgentBench({ ...params, "min-asr": 90 });
    answered(bench, 1);
    expect(bench.admitted(9)).toBe(3);
  });

  it("resumes when time-to-resume elapses, and judges afresh", () => {
    const bench = new AgentBench(params);
    bench.admitted(5);
    bench.clock.advance(3_999);
    expect(bench.agent.letter).toBe("C");
    bench.clock.advance(1);
    expect(bench.story).toEqual(["I>C min-asr", "C>I min-asr"]);
    expect(bench.admitted(9)).toBe(5);
  });

  it("an answer counts once however often it is told, and never for a session from the agent", () => {
    const bench = new AgentBench(params);
    const lease = bench.session();
    lease?.answered();
    lease?.answered();
    bench.session("inbound")?.answered();
    expect(bench.agent.snapshot().asr).toEqual({ ratio: 100, answered: 1, attempts: 1, minimum: 50 });
  });

  it("an answer to an attempt of the window before counts when it comes, so that ringing is not taken for failing", () => {
    const bench = new AgentBench(params);
    const ringing = Array.from({ length: 4 }, () => bench.session());
    bench.clock.advance(60_000);
    ringing[0]?.answered();
    expect(bench.admitted(1)).toBe(1);
    expect(bench.agent.snapshot().asr).toMatchObject({ ratio: 100, attempts: 1 });
  });

  it("each sustain window is judged by itself", () => {
    const bench = new AgentBench(params);
    bench.admitted(4);
    bench.clock.advance(60_000);
    expect(bench.admitted(4)).toBe(4);
    expect(bench.agent.letter).toBe("I");
  });

  it("an answer that came during the hold gives no credit once it is over", () => {
    const poor = { "min-asr": 20, "min-seizures": 1, "sustain-rate-window": 60, "time-to-resume": 1 };
    const bench = new AgentBench({ ...poor, "max-burst-rate": 9 });
    const leases = [bench.session(), bench.session()];
    // Another limit, named before it, holds the agent as long.
    for (let i = 0; i < 7; i++) leases.push(bench.session("inbound"));
    leases[0]?.answered();
    bench.clock.advance(1_000);
    for (const lease of leases) lease?.release("bye");
    expect(bench.admitted(5)).toBe(2);
    expect(bench.story).toEqual(["I>C min-asr", "C>I max-burst-rate", "I>C min-asr"]);
  });

  it("a good window before gives no credit to a window without an answer", () => {
    const bench = new AgentBench(params);
    answered(bench, 40);
    bench.clock.advance(60_000);
    expect(bench.admitted(9)).toBe(5);
  });

  it("min-asr 0 judges nothing", () => {
    expect(new AgentBench({ ...params, "min-asr": 0 }).admitted(50)).toBe(50);
  });
});

describe("SEMANTICS 3, max-register-burst-rate and max-register-sustain-rate", () => {
  it("count new REGISTERs over register-burst-window, in both directions", () => {
    const bench = new AgentBench({ "max-register-burst-rate": 2, "register-burst-window": 2 });
    expect(bench.requests("REGISTER", 3, "outbound") + bench.requests("REGISTER", 3, "inbound")).toBe(4);
    expect(bench.exceeded.at(-1)).toEqual({ limit: "max-register-burst-rate", value: 2, maximum: 2 });
    bench.clock.advance(2_000);
    expect(bench.requests("REGISTER", 9, "outbound")).toBe(4);
  });

  it("count new REGISTERs in sustain-rate-window", () => {
    const bench = new AgentBench({ "max-register-sustain-rate": 1, "sustain-rate-window": 10 });
    expect(bench.requests("REGISTER", 20, "outbound")).toBe(10);
    bench.clock.advance(2_000);
    expect(bench.requests("REGISTER", 20, "outbound")).toBe(2);
  });

  it("neither count nor refuse one that answers a challenge", () => {
    const bench = new AgentBench({ "max-register-burst-rate": 2 });
    for (let i = 0; i < 5; i++) {
      expect(bench.request("REGISTER", "outbound", { answersChallenge: true })).toBeDefined();
    }
    expect(bench.requests("REGISTER", 5, "outbound")).toBe(2);
    expect(bench.request("REGISTER", "outbound", { answersChallenge: true })).toBeDefined();
  });

  it("leave sessions, and the state, alone", () => {
    const bench = new AgentBench({ "max-register-burst-rate": 1 });
    bench.requests("REGISTER", 5, "outbound");
    expect(bench.agent.letter).toBe("I");
    expect(bench.session()).toBeDefined();
  });

  it("let REGISTERs through where only sessions have no room", () => {
    const bench = new AgentBench({ "max-outbound-sessions": 1 });
    bench.session();
    expect(bench.request("REGISTER", "outbound")).toBeDefined();
  });
});

describe("SEMANTICS 3, rate-constraints", () => {
  it.each(directions)("limit a method %s by burst and by sustained rate", (direction) => {
    const burst = new AgentBench({ "rate-constraints": rates("MESSAGE", { [`max-${direction}-burst-rate`]: 3 }) });
    expect(burst.requests("MESSAGE", 9, direction)).toBe(3);
    expect(burst.requests("MESSAGE", 9, other(direction))).toBe(9);
    expect(burst.requests("SUBSCRIBE", 9, direction)).toBe(9);
    expect(burst.agent.letter).toBe("I");
    expect(burst.agent.snapshot().exceeded).toEqual({ [`rate-constraints.MESSAGE.max-${direction}-burst-rate`]: 6 });
    burst.clock.advance(1_000);
    expect(burst.requests("MESSAGE", 9, direction)).toBe(3);

    const sustained = new AgentBench({
      "rate-constraints": rates("MESSAGE", { [`max-${direction}-sustain-rate`]: 1 }),
      "sustain-rate-window": 10,
    });
    expect(sustained.requests("MESSAGE", 20, direction)).toBe(10);
  });

  it("count re-INVITEs without ever refusing one, and without giving them a session's place", () => {
    const bench = new AgentBench({ "rate-constraints": rates("INVITE", { "max-outbound-burst-rate": 3 }) });
    for (let i = 0; i < 5; i++) bench.request("INVITE", "outbound", { exempt: true })?.release("done");
    expect(bench.agent.outboundActive).toBe(0);
    expect(bench.agent.letter).toBe("C");
    expect(bench.session()).toBeUndefined();
    expect(bench.request("INVITE", "outbound", { exempt: true })).toBeDefined();
  });

  it("count challenge answers without ever refusing one; an INVITE that is one still takes its place", () => {
    const bench = new AgentBench({
      "rate-constraints": rates("INVITE", { "max-outbound-burst-rate": 1 }),
      "max-outbound-sessions": 2,
    });
    bench.session();
    expect(bench.session()).toBeUndefined();
    expect(bench.request("INVITE", "outbound", { answersChallenge: true })).toBeDefined();
    expect(bench.agent.outboundActive).toBe(2);
    expect(bench.request("INVITE", "outbound", { answersChallenge: true })).toBeUndefined();
  });

  it("of REGISTER hold beside max-register-burst-rate", () => {
    const bench = new AgentBench({
      "rate-constraints": rates("REGISTER", { "max-outbound-burst-rate": 4 }),
      "max-register-burst-rate": 2,
    });
    expect(bench.requests("REGISTER", 3, "outbound")).toBe(2);
    for (let i = 0; i < 2; i++) bench.request("REGISTER", "outbound", { answersChallenge: true });
    const refusal = bench.agent.room({ direction: "outbound", method: "REGISTER" });
    expect(refusal).toMatchObject({
      exceeded: [{ limit: "max-register-burst-rate" }, { limit: "rate-constraints.REGISTER.max-outbound-burst-rate" }],
    });
  });
});

describe("SEMANTICS 3, in general", () => {
  it("0 means no limit, on every path", () => {
    const bench = new AgentBench();
    const leases = directions.flatMap((direction) => Array.from({ length: 500 }, () => bench.session(direction)));
    expect(leases).not.toContain(undefined);
    expect(bench.requests("REGISTER", 500, "outbound") + bench.requests("MESSAGE", 500, "inbound")).toBe(1_000);
    expect([bench.agent.letter, bench.story]).toEqual(["I", []]);
  });

  it("constraints: disabled turns every limit off while counting goes on", () => {
    const bench = new AgentBench({
      constraints: "disabled",
      "max-sessions": 1,
      "max-burst-rate": 1,
      "max-sustain-rate": 1,
      "min-asr": 100,
      "max-register-burst-rate": 1,
      "rate-constraints": rates("MESSAGE", { "max-outbound-burst-rate": 1 }),
    });
    for (let i = 0; i < 50; i++) expect(bench.session()).toBeDefined();
    expect(bench.requests("REGISTER", 5, "outbound") + bench.requests("MESSAGE", 5, "outbound")).toBe(10);
    expect(bench.agent.letter).toBe("I");
    const { sessions, rates: shown } = bench.agent.snapshot();
    expect([sessions.outbound.active, shown.burst.total.value]).toEqual([50, 50]);
  });

  it("refused attempts do not consume the window, and are counted by limit", () => {
    const bench = new AgentBench({ "max-burst-rate": 10, "max-outbound-sessions": 1 });
    const lease = bench.session();
    for (let i = 0; i < 20; i++) bench.session();
    lease?.release("bye");
    expect(bench.admitted(20)).toBe(9);
    expect(bench.agent.snapshot().exceeded).toEqual({ "max-outbound-sessions": 20, "max-burst-rate": 11 });
  });

  it("every limit that refuses is named, and admission takes all counters or none", () => {
    const bench = new AgentBench({ "max-sessions": 1, "max-outbound-sessions": 1, "max-outbound-burst-rate": 1 });
    bench.session();
    const before = bench.agent.snapshot();
    expect(bench.agent.admit({ direction: "outbound", method: "INVITE" })).toEqual({
      admitted: false,
      state: "C",
      exceeded: [
        { limit: "max-sessions", value: 1, maximum: 1 },
        { limit: "max-outbound-sessions", value: 1, maximum: 1 },
        { limit: "max-outbound-burst-rate", value: 1, maximum: 1 },
      ],
    });
    const after = bench.agent.snapshot();
    expect([after.sessions, after.rates, after.asr]).toEqual([before.sessions, before.rates, before.asr]);
  });

  it("asking for room takes nothing and counts nothing", () => {
    const bench = new AgentBench({ "max-outbound-sessions": 1 });
    expect(bench.agent.room({ direction: "outbound", method: "INVITE" })).toEqual({ admitted: true });
    bench.session();
    expect(bench.agent.room({ direction: "outbound", method: "INVITE" })).toMatchObject({
      admitted: false,
      state: "C",
    });
    expect([bench.agent.outboundActive, bench.exceeded]).toEqual([1, []]);
  });

  it("a lease released twice frees one place and raises a defect", () => {
    const bench = new AgentBench();
    const [first, second] = [bench.session(), bench.session()];
    first?.release("bye");
    first?.release("timeout");
    expect(bench.agent.outboundActive).toBe(1);
    expect(bench.defects.map(({ code, detail }) => [code, detail])).toEqual([
      ["WEIR_LEASE_RELEASED_TWICE", { agent: "carrier-a", direction: "outbound", why: "bye", again: "timeout" }],
    ]);
    second?.release("bye");
    expect([bench.agent.outboundActive, bench.defects.length]).toEqual([0, 1]);
  });
});
