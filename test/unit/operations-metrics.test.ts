import { beforeEach, describe, expect, it } from "vitest";
import { AgentEvents } from "../../src/agents/agent-events.ts";
import { AgentManager } from "../../src/agents/agent-manager.ts";
import { type AgentParams, agentParams } from "../../src/agents/params.ts";
import type { AgentSnapshot } from "../../src/agents/snapshot.ts";
import { CallCounters } from "../../src/calls/counters.ts";
import { WeirError } from "../../src/errors.ts";
import { agentMetrics } from "../../src/operations/agent-metrics.ts";
import { AgentWatch } from "../../src/operations/agent-watch.ts";
import { callMetrics } from "../../src/operations/call-metrics.ts";
import { engineMetrics } from "../../src/operations/engine-metrics.ts";
import { Metrics } from "../../src/operations/metrics.ts";
import { defaultsOf } from "../../src/params.ts";
import { ManualClock } from "../support/manual-clock.ts";

const params = (hostname: string, set: Partial<AgentParams> = {}): AgentParams => ({
  ...defaultsOf(agentParams),
  "ip-address": "127.0.0.1",
  ...set,
  hostname,
  "rate-constraints": [],
});

interface Line {
  readonly level: string;
  readonly detail: object;
  readonly message: string;
}

let lines: Line[];
const log = {
  info: (detail: object, message: string) => lines.push({ level: "info", detail, message }),
  warn: (detail: object, message: string) => lines.push({ level: "warn", detail, message }),
  error: (detail: object, message: string) => lines.push({ level: "error", detail, message }),
};

function system(...agents: AgentParams[]) {
  const events = new AgentEvents();
  const manager = new AgentManager(agents, { clock: new ManualClock(), random: () => 0, events });
  const watch = new AgentWatch(events, log);
  const metrics = new Metrics([...agentMetrics(manager, watch), watch.metric]);
  /** The value of a series at this scrape; undefined when there is none. */
  const scrape = async () => {
    const text = await metrics.text();
    return (series: string): number | undefined => {
      const line = text.split("\n").find((each) => each.startsWith(`${series} `));
      return line === undefined ? undefined : Number(line.slice(series.length + 1));
    };
  };
  return { manager, events, scrape };
}

const outbound = { direction: "outbound", method: "INVITE" } as const;

beforeEach(() => {
  lines = [];
});

describe("an agent's metrics", () => {
  it("are there from the start on", async () => {
    const value = await system(params("a", { "max-outbound-sessions": 1 }), params("b")).scrape();
    expect(value('weir_agent_state{agent="a",state="I"}')).toBe(1);
    expect(value('weir_agent_state{agent="b",state="O"}')).toBe(0);
    expect(value('weir_agent_sessions{agent="a",direction="outbound"}')).toBe(0);
    expect(value('weir_agent_sessions_maximum{agent="a",scope="outbound"}')).toBe(1);
    expect(value('weir_agent_limit_exceeded_total{agent="a",limit="max-outbound-sessions"}')).toBe(0);
    expect(value('weir_agent_limit_exceeded_total{agent="b",limit="max-outbound-sessions"}')).toBeUndefined();
    expect(value('weir_agent_transitions_total{agent="a",state="C"}')).toBe(0);
    expect(value('weir_agent_answer_seizure_ratio{agent="a"}')).toBeUndefined();
  });

  it("follow its sessions, refusals and changes of state from scrape to scrape", async () => {
    const { manager, scrape } = system(params("a", { "max-outbound-sessions": 1 }));
    const agent = manager.get("a");
    const admission = agent?.admit(outbound);
    agent?.admit(outbound);
    const full = await scrape();
    expect(full('weir_agent_state{agent="a",state="C"}')).toBe(1);
    expect(full('weir_agent_state{agent="a",state="I"}')).toBe(0);
    expect(full('weir_agent_sessions{agent="a",direction="outbound"}')).toBe(1);
    expect(full('weir_agent_session_attempts_total{agent="a",direction="outbound"}')).toBe(1);
    expect(full('weir_agent_limit_exceeded_total{agent="a",limit="max-outbound-sessions"}')).toBe(1);
    expect(full('weir_agent_transitions_total{agent="a",state="C"}')).toBe(1);

    if (admission?.admitted) {
      admission.lease.answered();
      admission.lease.release("bye");
    }
    const free = await scrape();
    expect(free('weir_agent_state{agent="a",state="I"}')).toBe(1);
    expect(free('weir_agent_sessions{agent="a",direction="outbound"}')).toBe(0);
    expect(free('weir_agent_sessions_answered_total{agent="a"}')).toBe(1);
    expect(free('weir_agent_answer_seizure_ratio{agent="a"}')).toBe(1);
  });
});

describe("the watch over agents", () => {
  it("logs each change of state once, with the limit that caused it", () => {
    const { manager } = system(params("a", { "max-outbound-sessions": 1 }));
    manager.get("a")?.admit(outbound);
    expect(lines).toMatchObject([
      {
        level: "info",
        message: "agent at a limit",
        detail: { agent: "a", from: "I", state: "C", limit: "max-outbound-sessions", value: 1, maximum: 1 },
      },
    ]);
  });

  it("warns when an agent goes out of service", () => {
    const { manager } = system(params("a"));
    manager.get("a")?.observe({ kind: "transport-failure", purpose: "traffic", detail: "ECONNREFUSED" });
    expect(lines).toMatchObject([
      { level: "warn", message: "agent out of service", detail: { agent: "a", state: "O" } },
    ]);
  });

  it("counts and logs defects", async () => {
    const { manager, scrape, events } = system(params("a"));
    const code = (name: string) => `weir_defects_total{code="${name}"}`;
    expect((await scrape())(code("WEIR_LEASE_RELEASED_TWICE"))).toBe(0);
    const admission = manager.get("a")?.admit(outbound);
    if (admission?.admitted) {
      admission.lease.release("bye");
      admission.lease.release("bye");
    }
    events.announce("defect", new WeirError("WEIR_COUNTER_NEGATIVE", { agent: "a" }));
    const value = await scrape();
    expect(value(code("WEIR_LEASE_RELEASED_TWICE"))).toBe(1);
    expect(value(code("WEIR_COUNTER_NEGATIVE"))).toBe(1);
    expect(lines.map(({ level, message }) => [level, message])).toEqual([
      ["error", "defect"],
      ["error", "defect"],
    ]);
  });
});

describe("the metrics of calls and engine", () => {
  it("are read at scrape from plain counters", async () => {
    const counters = new CallCounters();
    const calls = { active: 0, counters, subscriptions: { size: 0 } };
    const engine = {
      transport: { messagesIn: 3, connections: 2, malformed: new Map([["no Via", 4]]) },
      alive: { dialogs: 1 },
    };
    const metrics = new Metrics([...callMetrics(calls), ...engineMetrics(() => engine)]);
    expect(await metrics.text()).toMatch(/^weir_calls_active 0$/m);
    calls.active = 2;
    counters.received = 5;
    counters.refuse("draining");
    counters.ended.cancelled++;
    engine.transport.messagesIn = 9;
    engine.alive = { dialogs: 6 };
    const text = await metrics.text();
    for (const line of [
      "weir_calls_active 2",
      "weir_calls_received_total 5",
      'weir_calls_refused_total{cause="draining"} 1',
      'weir_calls_ended_total{end="cancelled"} 1',
      'weir_calls_ended_total{end="caller-bye"} 0',
      "# TYPE weir_engine_transport_messages_in_total counter",
      "weir_engine_transport_messages_in_total 9",
      "# TYPE weir_engine_alive_dialogs gauge",
      "weir_engine_alive_dialogs 6",
      "# TYPE weir_engine_transport_connections gauge",
      "weir_engine_transport_connections 2",
      'weir_engine_transport_malformed_total{reason="no Via"} 4',
    ]) {
      expect(text.split("\n")).toContain(line);
    }
  });

  it("are there as soon as an engine in another thread has told of its counters", async () => {
    let counters = {};
    const metrics = new Metrics([], () => engineMetrics(() => counters));
    expect(await metrics.text()).not.toContain("weir_engine");
    counters = { core: { loops: 1 } };
    expect(await metrics.text()).toMatch(/^weir_engine_core_loops_total 1$/m);
    counters = { core: { loops: 2 } };
    expect(await metrics.text()).toMatch(/^weir_engine_core_loops_total 2$/m);
  });
});

describe("a scrape", () => {
  it("lets calls pass between a few samples and the next: thousands of agents held them up by a second", async () => {
    let turn = 0;
    let over = false;
    const count = (): void => {
      turn++;
      if (!over) setImmediate(count);
    };
    const one = system(params("a")).manager.get("a")?.snapshot() as AgentSnapshot;
    const readInTurn = new Map<number, number>();
    const snapshot = (): AgentSnapshot => {
      readInTurn.set(turn, (readInTurn.get(turn) ?? 0) + 1);
      return one;
    };
    const agents = Array.from({ length: 2_000 }, () => ({ params: {}, snapshot }));
    setImmediate(count);
    await new Metrics(agentMetrics(agents, new AgentWatch(new AgentEvents(), log))).text();
    over = true;
    const perTurn = [...readInTurn.values()];
    expect(perTurn.reduce((sum, read) => sum + read, 0)).toBe(2_000);
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(200);
    expect(turn).toBeGreaterThan(50);
  });

  it("writes every label value so that it can be read back", async () => {
    const labels = { path: 'C:\\new "one"\nline' };
    const source = {
      kind: "gauge",
      name: "weir_test",
      help: "Test.",
      labels: ["path"],
      samples: () => [{ labels, value: 1 }],
    } as const;
    expect(await new Metrics([source]).text()).toContain('weir_test{path="C:\\\\new \\"one\\"\\nline"} 1\n');
  });
});
