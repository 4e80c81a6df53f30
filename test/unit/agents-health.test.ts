import { describe, expect, it } from "vitest";
import { type Health, type HealthEvent, nextHealth, startOfHealth } from "../../src/agents/health.ts";
import type { AgentParams } from "../../src/agents/params.ts";
import type { Evidence } from "../../src/agents/session-agent.ts";
import type { CodeRange } from "../../src/params.ts";
import { AgentBench, agentWith } from "../support/agents.ts";

const codes = (...list: number[]): readonly CodeRange[] => list.map((code) => ({ from: code, to: code }));
const timeout: Evidence = { kind: "timeout", purpose: "traffic" };
const pingTimeout: Evidence = { kind: "timeout", purpose: "ping" };
const refused: Evidence = { kind: "transport-failure", purpose: "traffic", detail: "ECONNREFUSED" };
const pingRefused: Evidence = { kind: "transport-failure", purpose: "ping", detail: "ECONNREFUSED" };
const nameFailure: Evidence = { kind: "name-failure", purpose: "traffic", detail: "ENOTFOUND" };
const answer = (status: number): Evidence => ({ kind: "response", purpose: "traffic", status, createsDialog: true });
const pingAnswer = (status: number): Evidence => ({ kind: "response", purpose: "ping", status });
const pinged = { "ping-method": "OPTIONS", "ping-interval": 10 } as const;

/** The letter after each piece of evidence. */
function letters(params: Partial<AgentParams>, ...evidence: Evidence[]): string {
  const bench = new AgentBench(params);
  const letterAfter = (each: Evidence) => {
    bench.agent.observe(each);
    return bench.agent.letter;
  };
  return evidence.map(letterAfter).join("");
}

describe("SEMANTICS 4.1, what takes an agent out of service", () => {
  it.each([
    ["one transaction timeout of real traffic by default", {}, [timeout], "O"],
    ["trans-timeouts consecutive ones", { "trans-timeouts": 3 }, [timeout, timeout, timeout], "IIO"],
    [
      "any response from the agent resets the count of timeouts",
      { "trans-timeouts": 2 },
      [timeout, answer(500), timeout, pingAnswer(200), timeout, timeout],
      "IIIIIO",
    ],
    ["trans-timeouts 0 = never", { "trans-timeouts": 0 }, [timeout, timeout, refused], "III"],
    ["one timeout of a ping by default", {}, [pingTimeout], "O"],
    ["ping-failure-threshold consecutive ones", { "ping-failure-threshold": 2 }, [pingTimeout, pingTimeout], "IO"],
    [
      "an answered ping ends a run of failed ones, an answered call does not",
      { "ping-failure-threshold": 2 },
      [pingTimeout, pingAnswer(200), pingTimeout, answer(200), pingTimeout],
      "IIIIO",
    ],
    ["a transport failure at once, whatever the threshold", { "trans-timeouts": 3 }, [refused], "O"],
    ["a transport failure of a ping at once", { "ping-failure-threshold": 3 }, [pingRefused], "O"],
    ["a name that resolves to nothing", {}, [nameFailure], "O"],
    [
      "keep-alive: a code of out-service-response-codes to a ping",
      { "out-service-response-codes": codes(503) },
      [pingAnswer(503)],
      "O",
    ],
    [
      "keep-alive: a code of out-service-response-codes to a dialog-creating request",
      { "out-service-response-codes": codes(503) },
      [answer(503)],
      "O",
    ],
    [
      "keep-alive: no such code to a request that makes no dialog",
      { "out-service-response-codes": codes(503) },
      [{ kind: "response", purpose: "traffic", status: 503 }],
      "I",
    ],
    [
      "keep-alive: the list of the other mode takes nobody out",
      { "ping-out-service-response-codes": codes(503) },
      [pingAnswer(503)],
      "I",
    ],
    [
      "continuous: a code of ping-out-service-response-codes to a ping",
      { "ping-send-mode": "continuous", "ping-out-service-response-codes": codes(404) },
      [pingAnswer(404)],
      "O",
    ],
    [
      "continuous: responses to calls never do, with the code on both lists",
      {
        "ping-send-mode": "continuous",
        "out-service-response-codes": codes(503),
        "ping-out-service-response-codes": codes(503),
      },
      [answer(503), answer(503)],
      "II",
    ],
    ["continuous: a timeout does", { "ping-send-mode": "continuous" }, [timeout], "O"],
    [
      "by default any response is proof of life",
      {},
      [answer(503), pingAnswer(503), answer(486), pingAnswer(404)],
      "IIII",
    ],
  ] as const)("%s", (_, params: Partial<AgentParams>, evidence, expected) => {
    expect(letters(params, ...evidence)).toBe(expected);
  });

  it("says what it was, with code or detail", () => {
    const bench = new AgentBench({ "out-service-response-codes": codes(503) });
    bench.agent.observe(answer(503));
    expect(bench.changes[0]).toMatchObject({ from: "I", to: "O", reason: "response", status: 503 });
    const other = new AgentBench();
    other.agent.observe(refused);
    expect(other.changes[0]).toMatchObject({ reason: "transport-failure", detail: "ECONNREFUSED" });
    expect(other.agent.reason).toBe("transport-failure");
  });
});

describe("SEMANTICS 4.2, what brings it back", () => {
  const back = (params: Partial<AgentParams>, ...evidence: Evidence[]) => {
    const bench = new AgentBench(params);
    for (const each of evidence) bench.agent.observe(each);
    expect(bench.agent.letter).toBe("O");
    const { resumeAt } = bench.agent;
    return { bench, afterS: resumeAt === undefined ? undefined : (resumeAt - bench.clock.now()) / 1000 };
  };

  it.each([
    ["time-to-resume, 30 s by default", {}, timeout, 30],
    ["ttr-no-response where the cause was silence", { "ttr-no-response": 5 }, timeout, 5],
    ["ttr-no-response where the cause was transport", { "ttr-no-response": 5 }, refused, 5],
    [
      "time-to-resume where the cause was a response",
      { "ttr-no-response": 5, "out-service-response-codes": codes(503) },
      answer(503),
      30,
    ],
    [
      "time-to-resume where the cause was a response to a ping",
      { "ttr-no-response": 5, "out-service-response-codes": codes(503) },
      pingAnswer(503),
      30,
    ],
    ["time-to-resume where ttr-no-response is 0", { "time-to-resume": 7 }, pingTimeout, 7],
    ["time-to-resume 0 = never by timer", { "time-to-resume": 0, ...pinged }, timeout, undefined],
    ["no timer for a name that did not resolve while pings will tell", pinged, nameFailure, undefined],
    ["time-to-resume for a name that did not resolve where nothing pings", {}, nameFailure, 30],
  ] as const)("%s", (_, params: Partial<AgentParams>, evidence, seconds) => {
    const { bench, afterS } = back(params, evidence);
    expect(afterS).toBe(seconds);
    bench.clock.advance((seconds ?? 86_400) * 1000 - 1);
    expect(bench.agent.letter).toBe("O");
    bench.clock.advance(1);
    expect(bench.agent.letter).toBe(seconds === undefined ? "O" : "I");
  });

  it("time-to-resume runs from when it went out, whatever fails meanwhile", () => {
    const { bench } = back({ "time-to-resume": 10 }, timeout);
    bench.clock.advance(9_000);
    bench.agent.observe(timeout);
    bench.agent.observe(pingTimeout);
    bench.clock.advance(1_000);
    expect(bench.agent.letter).toBe("I");
    expect(bench.story).toEqual(["I>O timeout", "O>I time-to-resume"]);
  });

  it.each([
    ["any successful response to a ping", {}, [pingAnswer(200)], "I"],
    ["a failure response that is on no list", {}, [pingAnswer(404)], "I"],
    ["not one on the list of the mode", { "out-service-response-codes": codes(404) }, [pingAnswer(404)], "O"],
    [
      "one of ping-in-service-response-codes, though a list of bad ones covers it",
      {
        "out-service-response-codes": [{ from: 400, to: 699 }],
        "ping-in-service-response-codes": codes(405),
      },
      [pingAnswer(405)],
      "I",
    ],
    [
      "ping-success-threshold consecutive ones",
      { "ping-success-threshold": 3 },
      [pingAnswer(200), pingAnswer(200)],
      "O",
    ],
    ["two in a row", { "ping-success-threshold": 2 }, [pingTimeout, pingAnswer(200), pingAnswer(200)], "I"],
    ["real traffic answered is no evidence", {}, [answer(200), answer(200)], "O"],
  ] as const)("ping answered: %s", (_, params: Partial<AgentParams>, evidence, expected) => {
    const { bench } = back({ ...pinged, ...params }, timeout);
    for (const each of evidence) bench.agent.observe(each);
    expect(bench.agent.letter).toBe(expected);
  });

  it.each([pingTimeout, pingRefused, pingAnswer(503), nameFailure])(
    "ping-success-threshold counts good pings that nothing comes between: %o",
    (bad) => {
      const { bench } = back(
        { ...pinged, "ping-success-threshold": 2, "out-service-response-codes": codes(503) },
        timeout,
      );
      for (const each of [pingAnswer(200), bad, pingAnswer(200)]) bench.agent.observe(each);
      expect(bench.agent.letter).toBe("O");
      bench.agent.observe(pingAnswer(200));
      expect(bench.agent.letter).toBe("I");
    },
  );

  it("in-service-period: standby first, in service when it elapses with no new failure", () => {
    const { bench } = back({ "in-service-period": 5 }, timeout);
    bench.agent.observe(pingAnswer(200));
    expect(bench.agent.letter).toBe("S");
    expect(bench.session()).toBeUndefined();
    bench.clock.advance(4_999);
    expect(bench.agent.letter).toBe("S");
    bench.clock.advance(1);
    expect(bench.story).toEqual(["I>O timeout", "O>S ping-answered", "S>I in-service-period"]);
  });

  it.each([timeout, refused, nameFailure, pingTimeout, pingRefused])(
    "a new failure in standby goes out again: %o",
    (failure) => {
      const { bench } = back({ "in-service-period": 5, "trans-timeouts": 3, "ping-failure-threshold": 3 }, pingRefused);
      bench.clock.advance(30_000);
      expect(bench.agent.letter).toBe("S");
      bench.agent.observe(failure);
      expect(bench.agent.letter).toBe("O");
      bench.clock.advance(29_999);
      expect(bench.agent.letter).toBe("O");
    },
  );

  it("new times hold for an agent that is out already", () => {
    const { bench } = back({}, timeout);
    bench.clock.advance(5_000);
    bench.agent.configure(agentWith({ "time-to-resume": 6 }));
    bench.clock.advance(999);
    expect(bench.agent.letter).toBe("O");
    bench.clock.advance(1);
    expect(bench.agent.letter).toBe("I");
  });

  it("new times that have passed already bring it back at once", () => {
    const { bench } = back({}, timeout);
    bench.clock.advance(5_000);
    bench.agent.configure(agentWith({ "time-to-resume": 2 }));
    bench.clock.advance(0);
    expect(bench.agent.letter).toBe("I");
  });
});

describe("the health table", () => {
  const params = agentWith({ "in-service-period": 5 });
  const cells: Record<Health, Record<HealthEvent, Health>> = {
    "in-service": {
      answer: "in-service",
      "bad-answer": "out-of-service",
      timeout: "out-of-service",
      "transport-failure": "out-of-service",
      "name-failure": "out-of-service",
      "ping-answer": "in-service",
      "ping-bad-answer": "out-of-service",
      "ping-timeout": "out-of-service",
      "ping-transport-failure": "out-of-service",
      "resume-timer": "in-service",
      "settle-timer": "in-service",
    },
    "out-of-service": {
      answer: "out-of-service",
      "bad-answer": "out-of-service",
      timeout: "out-of-service",
      "transport-failure": "out-of-service",
      "name-failure": "out-of-service",
      "ping-answer": "standby",
      "ping-bad-answer": "out-of-service",
      "ping-timeout": "out-of-service",
      "ping-transport-failure": "out-of-service",
      "resume-timer": "standby",
      "settle-timer": "out-of-service",
    },
    standby: {
      answer: "standby",
      "bad-answer": "out-of-service",
      timeout: "out-of-service",
      "transport-failure": "out-of-service",
      "name-failure": "out-of-service",
      "ping-answer": "standby",
      "ping-bad-answer": "out-of-service",
      "ping-timeout": "out-of-service",
      "ping-transport-failure": "out-of-service",
      "resume-timer": "standby",
      "settle-timer": "in-service",
    },
  };
  const every = Object.entries(cells).flatMap(([health, row]) =>
    Object.entries(row).map(([event, next]) => [health, event, next] as [Health, HealthEvent, Health]),
  );

  it.each(every)("%s and %s: %s", (health, event, expected) => {
    const before = { ...startOfHealth(0), health };
    const after = nextHealth(before, event, { params, now: 1_000, cause: { reason: "timeout" } });
    expect(after.health).toBe(expected);
    // A state that stays keeps its age: its timer must not start anew.
    expect(after.since).toBe(expected === health ? 0 : 1_000);
  });
});

describe("SEMANTICS 8, a 503 with Retry-After", () => {
  const busy = (retryAfterS: number): Evidence => ({ kind: "response", purpose: "traffic", status: 503, retryAfterS });

  it("keeps new sessions off for that long, and shows as constraint retry-after", () => {
    const bench = new AgentBench();
    bench.agent.observe(busy(20));
    expect([bench.agent.letter, bench.agent.reason, bench.agent.heldByRetryAfter]).toEqual(["C", "retry-after", true]);
    // Seconds.
    expect(bench.changes[0]).toMatchObject({ limit: "retry-after", value: 20, maximum: 60 });
    expect(bench.session()).toBeUndefined();
    expect(bench.session("inbound")).toBeDefined();
    bench.clock.advance(19_999);
    expect(bench.agent.letter).toBe("C");
    bench.clock.advance(1);
    expect(bench.story).toEqual(["I>C retry-after", "C>I retry-after"]);
    expect(bench.agent.heldByRetryAfter).toBe(false);
  });

  it("is capped by max-retry-after, and ignored where that is 0", () => {
    const bench = new AgentBench({ "max-retry-after": 10 });
    bench.agent.observe(busy(3_600));
    bench.clock.advance(10_000);
    expect(bench.agent.letter).toBe("I");
    const deaf = new AgentBench({ "max-retry-after": 0 });
    deaf.agent.observe(busy(3_600));
    expect(deaf.agent.letter).toBe("I");
  });

  it("only ever grows longer", () => {
    const bench = new AgentBench();
    bench.agent.observe(busy(20));
    bench.agent.observe(busy(5));
    bench.clock.advance(19_999);
    expect(bench.agent.letter).toBe("C");
  });

  it("is shortened by a lower max-retry-after, and by no higher one made longer", () => {
    const bench = new AgentBench();
    bench.agent.observe(busy(20));
    bench.agent.configure(agentWith({ "max-retry-after": 5 }));
    bench.agent.configure(agentWith({ "max-retry-after": 3_600 }));
    bench.clock.advance(4_999);
    expect(bench.agent.letter).toBe("C");
    bench.clock.advance(1);
    expect(bench.agent.letter).toBe("I");
  });

  it("holds nobody off whom routing finds to be the last in service, but no other limit is passed over", () => {
    const bench = new AgentBench({ "max-outbound-sessions": 1 });
    bench.agent.observe(busy(20));
    const last = { direction: "outbound", method: "INVITE", ignoreRetryAfter: true } as const;
    expect(bench.agent.room(last)).toEqual({ admitted: true });
    expect(bench.agent.admit(last).admitted).toBe(true);
    expect(bench.agent.admit(last)).toMatchObject({ exceeded: [{ limit: "max-outbound-sessions" }] });
  });

  it("holds also where constraints are disabled: it is the agent's own wish", () => {
    const bench = new AgentBench({ constraints: "disabled" });
    bench.agent.observe(busy(20));
    expect(bench.agent.letter).toBe("C");
  });

  it("of another status, or of a ping, holds nobody off", () => {
    const bench = new AgentBench();
    bench.agent.observe({ kind: "response", purpose: "traffic", status: 480, retryAfterS: 20 });
    bench.agent.observe({ kind: "response", purpose: "ping", status: 503, retryAfterS: 20 });
    expect(bench.agent.letter).toBe("I");
  });
});
