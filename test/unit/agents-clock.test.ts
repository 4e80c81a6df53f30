import { describe, expect, it } from "vitest";
import type { AgentParams } from "../../src/agents/params.ts";
import type { Endpoint } from "../../src/location.ts";
import { AgentBench, agentWith } from "../support/agents.ts";
import { FakePinger } from "../support/fake-pinger.ts";

const hour = 3_600_000;
type Trouble = (bench: AgentBench) => void;

const sessions: Trouble = (bench) => bench.admitted(30);
const busy: Trouble = ({ agent }) =>
  agent.observe({ kind: "response", purpose: "traffic", status: 503, retryAfterS: 3 });
const silence: Trouble = ({ agent }) => agent.observe({ kind: "timeout", purpose: "traffic" });

/** What keeps sessions from an agent, each for 6 s at most, and the letter it then shows. */
const troubles: [string, Partial<AgentParams>, Trouble, string][] = [
  ["min-asr", { "min-asr": 50, "min-seizures": 3, "time-to-resume": 3 }, sessions, "C"],
  ["retry-after", {}, busy, "C"],
  ["max-burst-rate", { "max-burst-rate": 5 }, sessions, "C"],
  ["max-sustain-rate", { "max-sustain-rate": 5, "sustain-rate-window": 3 }, sessions, "C"],
  ["timeout", { "time-to-resume": 3 }, silence, "O"],
];

describe.each([
  ["back", -hour],
  ["forward", hour],
])("a clock that jumps %s by an hour", (_, jump) => {
  it.each(troubles)("neither frees an agent for good nor locks it: %s", (reason, params, trouble, letter) => {
    const bench = new AgentBench(params);
    for (let round = 0; round < 2; round++) {
      trouble(bench);
      expect([bench.agent.letter, bench.agent.reason]).toEqual([letter, reason]);
      bench.clock.jump(jump);
      bench.clock.advance(6_000);
      expect([bench.agent.letter, bench.changes.at(-1)?.to]).toEqual(["I", "I"]);
    }
    trouble(bench);
    bench.clock.advance(50);
    expect(bench.agent.letter).toBe(letter);
    bench.clock.advance(6_000);
    expect(bench.agent.letter).toBe("I");
  });

  it("does not put an address that was silent last for longer than its time to resume", () => {
    const bench = new AgentBench({ hostname: "trunk.example", "ip-address": "", port: 0 });
    const at = (address: string): Endpoint => ({ protocol: "udp", address, port: 5060 });
    const endpoints = [at("192.0.2.1"), at("192.0.2.2")] as const;
    bench.manager.locate("trunk.example", [{ host: "trunk.example", priority: 0, weight: 0, endpoints }]);
    const inOrder = bench.agent.route(() => 0);
    bench.agent.silent(inOrder[0] ?? endpoints[0]);
    expect(bench.agent.route(() => 0)).toEqual(inOrder.toReversed());
    bench.clock.jump(jump);
    bench.clock.advance(30_000);
    expect(bench.agent.route(() => 0)).toEqual(inOrder);
  });

  it("does not keep new times from an agent that is out of service", () => {
    const bench = new AgentBench();
    silence(bench);
    bench.clock.jump(jump);
    bench.agent.configure(agentWith({ "time-to-resume": 3 }));
    bench.clock.advance(3_000);
    expect(bench.agent.letter).toBe("I");
  });

  it("stops no pings", () => {
    const bench = new AgentBench({ "ping-method": "OPTIONS", "ping-interval": 10 });
    const pinger = new FakePinger(bench.clock);
    bench.manager.startPings(pinger);
    bench.clock.advance(60_000);
    bench.agent.touch();
    bench.clock.jump(jump);
    const before = pinger.sent.length;
    bench.clock.advance(60_000);
    expect(pinger.sent.length - before).toBeGreaterThanOrEqual(4);
  });
});
