import { describe, expect, it } from "vitest";
import { AgentEvents } from "../../src/agents/agent-events.ts";
import { AgentManager } from "../../src/agents/agent-manager.ts";
import type { AgentParams } from "../../src/agents/params.ts";
import { decidePing, firstPingAt } from "../../src/agents/ping-schedule.ts";
import { readPingMethod } from "../../src/agents/pinger.ts";
import { Ticks } from "../../src/agents/ticks.ts";
import { AgentBench, agentWith } from "../support/agents.ts";
import { FakePinger } from "../support/fake-pinger.ts";
import { ManualClock } from "../support/manual-clock.ts";

const keepAlive = { "ping-method": "OPTIONS", "ping-interval": 10 } as const;
const continuous = { ...keepAlive, "ping-send-mode": "continuous" } as const;
const timeout = { kind: "timeout" } as const;
const ok = { kind: "response", status: 200 } as const;

/** A pinged agent; chance always gives `random`, so pings come every 10 s when it is 0.5, the first after 5 s. */
function pinged(params: Partial<AgentParams>, random = 0.5) {
  const bench = new AgentBench(params);
  const pinger = new FakePinger(bench.clock);
  const { clock } = bench;
  bench.agent.startPings({ clock, random: () => random, pinger, ticks: new Ticks(clock) });
  return { bench, pinger, clock, agent: bench.agent };
}

describe("SEMANTICS 4.3, when a ping is sent", () => {
  it.each([
    ["no ping-method", { "ping-interval": 10 }],
    ["ping-interval 0", { "ping-method": "OPTIONS" }],
  ])("none with %s", (_, params) => {
    const { pinger, clock } = pinged(params);
    clock.advance(600_000);
    expect([pinger.sent.length, clock.pending]).toEqual([0, 0]);
  });

  it("continuous: one every ping-interval, whatever the traffic", () => {
    const { bench, pinger, clock } = pinged(continuous);
    for (let second = 0; second < 60; second++) {
      bench.admitted(1);
      clock.advance(1_000);
    }
    expect(pinger.times()).toEqual([65, 75, 85, 95, 105, 115].map((s) => s * 1000));
  });

  it("keep-alive: only when no SIP transaction took place during ping-interval", () => {
    const { bench, pinger, clock, agent } = pinged(keepAlive);
    const traffic = [
      () => bench.admitted(1, "outbound"),
      () => bench.admitted(1, "inbound"),
      () => bench.requests("REGISTER", 1, "inbound"),
      () => agent.touch(),
      () => agent.observe({ kind: "response", purpose: "traffic", status: 180 }),
    ];
    for (let round = 0; round < 10; round++) {
      for (const each of traffic) {
        each();
        clock.advance(4_000);
      }
    }
    expect(pinger.sent).toEqual([]);
    const last = clock.now() - 4_000;
    clock.advance(30_000);
    const [first = 0, second = 0] = pinger.times();
    expect(first).toBeGreaterThanOrEqual(last + 10_000);
    expect(first).toBeLessThanOrEqual(last + 11_000);
    expect(second - first).toBe(10_000);
  });

  it("keep-alive: a refused session is no transaction with the agent", () => {
    const { bench, pinger, clock } = pinged({ ...keepAlive, "max-outbound-sessions": 1 });
    bench.session();
    for (let second = 0; second < 11; second++) {
      bench.session();
      clock.advance(1_000);
    }
    expect(pinger.sent.length).toBe(1);
  });

  it.each([keepAlive, continuous])("an out-of-service agent is pinged at ping-interval: %o", (params) => {
    const { pinger, clock, agent } = pinged({ ...params, "time-to-resume": 0 });
    pinger.answer = timeout;
    agent.observe({ kind: "timeout", purpose: "traffic" });
    agent.touch();
    clock.advance(100_000);
    expect([pinger.sent.length, agent.letter]).toEqual([10, "O"]);
  });

  it("none while disabled, again once enabled; a draining agent is pinged on", () => {
    const { pinger, clock, agent } = pinged(continuous);
    agent.setAdmin("disabled");
    clock.advance(60_000);
    expect(pinger.sent.length).toBe(0);
    agent.setAdmin("draining");
    clock.advance(60_000);
    expect(pinger.sent.length).toBe(6);
  });

  it("starts anywhere in the interval and keeps to it by ±10 %", () => {
    const params = agentWith(continuous);
    const facts = { params, admin: "enabled", health: "in-service", lastActivity: 0 } as const;
    expect([0, 0.25, 0.999].map((random) => firstPingAt(params, 0, () => random))).toEqual([0, 2_500, 9_990]);
    expect([0, 0.5, 1].map((random) => decidePing(facts, 0, () => random).nextAt)).toEqual([9_000, 10_000, 11_000]);
  });

  it("keep-alive: decides again when the silence may have lasted for the interval, and up to 10 % later", () => {
    const params = agentWith(keepAlive);
    const facts = { params, admin: "enabled", health: "in-service", lastActivity: 5_000 } as const;
    const after = [0, 1].map((random) => decidePing(facts, 10_000, () => random));
    expect(after).toEqual([
      { ping: false, nextAt: 15_000 },
      { ping: false, nextAt: 16_000 },
    ]);
    expect(decidePing(facts, 15_000, () => 0).ping).toBe(true);
  });

  it("spreads agents that start together over the interval", () => {
    let seed = 0;
    const random = () => (seed = (seed + 0.37) % 1);
    const bench = new AgentBench();
    bench.manager.configure(
      Array.from({ length: 100 }, (_, i) => agentWith({ ...continuous, hostname: `carrier-${i}` })),
    );
    const pinger = new FakePinger(bench.clock);
    const { clock } = bench;
    const deps = { clock, random, pinger, ticks: new Ticks(clock) };
    for (const agent of bench.manager) agent.startPings(deps);
    const perSecond = Array.from({ length: 10 }, () => {
      const before = pinger.sent.length;
      bench.clock.advance(1_000);
      return pinger.sent.length - before;
    });
    expect(Math.max(...perSecond)).toBeLessThanOrEqual(20);
    expect(Math.min(...perSecond)).toBeGreaterThanOrEqual(5);
  });
});

describe("thousands of pinged agents", () => {
  it("share their timers, and are never pinged as one burst", () => {
    let seed = 1;
    const random = (): number => {
      seed = (seed * 16_807) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const clock = new ManualClock();
    const params = Array.from({ length: 3_000 }, (_, i) =>
      agentWith({ ...continuous, "ping-interval": 30, hostname: `carrier-${i}` }),
    );
    const manager = new AgentManager(params, { clock, random, events: new AgentEvents() });
    const pinger = new FakePinger(clock);
    pinger.answer = undefined;
    manager.startPings(pinger);
    expect(clock.pending).toBeLessThanOrEqual(151);
    clock.advance(300_000);
    expect(pinger.sent.length / 3_000).toBeCloseTo(10, 0);
    const atOnce = new Map<number, number>();
    for (const time of pinger.times()) atOnce.set(time, (atOnce.get(time) ?? 0) + 1);
    // 20 on average.
    expect(Math.max(...atOnce.values())).toBeLessThan(60);
    manager.stop();
    expect(clock.pending).toBe(0);
  });

  it("are pinged no more once they are stopped, were it by what became of another at the same moment", () => {
    const { clock } = new AgentBench();
    const ticks = new Ticks(clock);
    const done: string[] = [];
    const second = { due: () => done.push("second") };
    const first = {
      due: () => {
        done.push("first");
        ticks.remove(60_100, second);
      },
    };
    for (const job of [first, second, { due: () => done.push("third") }]) ticks.add(60_100, job);
    clock.advance(100);
    expect(done).toEqual(["first", "third"]);
    expect(clock.pending).toBe(0);
  });
});

describe("SEMANTICS 4.3, what a ping says", () => {
  it.each([
    ["OPTIONS", "OPTIONS", 0],
    ["OPTIONS;hops=70", "OPTIONS", 70],
    ["info; hops = 1", "INFO", 1],
    ["OPTIONS;hops=999", "OPTIONS", 255],
  ])("ping-method %s", (text, method, maxForwards) => {
    expect(readPingMethod(text)).toEqual({ method, maxForwards });
  });

  it("carries the agent's parameters of the moment, and the time to wait", () => {
    const { bench, pinger, clock } = pinged({ ...continuous, "ping-timeout": 2 });
    clock.advance(6_000);
    bench.agent.configure(agentWith({ ...continuous, "ping-timeout": 2, "ping-to-user-part": "ping" }));
    clock.advance(10_000);
    expect(pinger.sent.map(({ request }) => request.params["ping-to-user-part"])).toEqual(["", "ping"]);
    expect(pinger.sent[0]?.request).toMatchObject({ method: "OPTIONS", maxForwards: 0, timeoutMs: 2_000 });
  });
});

describe("SEMANTICS 4.3, what becomes of a ping", () => {
  it("out by a timeout, back by an answer", () => {
    const { bench, pinger, clock } = pinged({ ...continuous, "time-to-resume": 0 });
    pinger.answer = timeout;
    clock.advance(6_000);
    expect(bench.agent.letter).toBe("O");
    expect(bench.agent.snapshot().lastPing).toEqual({ at: "2023-11-14T22:14:25.000Z", failure: "timeout" });
    pinger.answer = ok;
    clock.advance(10_000);
    expect(bench.story).toEqual(["I>O ping-timeout", "O>I ping-answered"]);
    expect(bench.agent.snapshot().lastPing).toEqual({ at: "2023-11-14T22:14:35.000Z", status: 200, roundTripMs: 5 });
  });

  it("ping-timeout is kept here, so that a port that never calls back is a timeout", () => {
    const { bench, pinger, clock } = pinged({ ...continuous, "ping-timeout": 3 });
    pinger.answer = undefined;
    clock.advance(7_999);
    expect(bench.agent.letter).toBe("I");
    clock.advance(1);
    expect(bench.agent.letter).toBe("O");
  });

  it("an answer later than ping-timeout is no answer to it", () => {
    const { bench, pinger, clock } = pinged({ ...continuous, "ping-timeout": 3 });
    pinger.answer = undefined;
    clock.advance(9_000);
    pinger.end(0, ok);
    expect(bench.story).toEqual(["I>O ping-timeout"]);
  });

  it("a lost answer never stops the next ping", () => {
    const { pinger, clock } = pinged(continuous);
    pinger.answer = undefined;
    clock.advance(60_000);
    expect(pinger.sent.length).toBe(6);
  });

  it("silence on an older ping is no news once a newer one was answered", () => {
    const { bench, pinger, clock } = pinged(continuous);
    pinger.answer = undefined;
    clock.advance(20_000);
    pinger.end(1, ok);
    pinger.end(0, timeout);
    expect(bench.agent.letter).toBe("I");
    expect(bench.agent.snapshot().lastPing).toMatchObject({ status: 200 });
    clock.advance(10_000);
    pinger.end(2, timeout);
    expect(bench.agent.letter).toBe("O");
  });

  it("a late answer to a ping sent before an administrative change is ignored", () => {
    const { bench, pinger, clock } = pinged({ ...continuous, "time-to-resume": 0, "ping-timeout": 20 });
    pinger.answer = undefined;
    clock.advance(6_000);
    bench.agent.observe({ kind: "timeout", purpose: "traffic" });
    bench.agent.setAdmin("disabled");
    bench.agent.setAdmin("enabled");
    pinger.end(0, ok);
    expect(bench.agent.letter).toBe("O");
    clock.advance(20_000);
    pinger.end(1, ok);
    expect(bench.agent.letter).toBe("I");
  });

  it("counts once however often the port calls back", () => {
    const { bench, pinger, clock } = pinged({ ...continuous, "ping-failure-threshold": 2 });
    pinger.answer = undefined;
    clock.advance(6_000);
    pinger.end(0, timeout);
    pinger.end(0, timeout);
    expect(bench.agent.letter).toBe("I");
  });

  it("no timer is left once the agent is stopped", () => {
    const { pinger, clock, agent } = pinged({ ...continuous, "ping-timeout": 20 });
    pinger.answer = undefined;
    clock.advance(16_000);
    agent.observe({ kind: "timeout", purpose: "traffic" });
    agent.stop();
    expect(clock.pending).toBe(0);
  });

  it("ping parameters changed at run time hold at once", () => {
    const { bench, pinger, clock } = pinged({});
    clock.advance(20_000);
    bench.agent.configure(agentWith(continuous));
    clock.advance(20_000);
    expect(pinger.sent.length).toBe(2);
    bench.agent.configure(agentWith({ ...continuous, "ping-interval": 0 }));
    clock.advance(60_000);
    expect(pinger.sent.length).toBe(2);
  });
});
