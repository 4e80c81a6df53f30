// Route and admit with few and with many policies, and what many policies cost to load.
import { AgentEvents } from "../../src/agents/agent-events.ts";
import { AgentManager } from "../../src/agents/agent-manager.ts";
import { systemClock } from "../../src/clock.ts";
import { loadConfig } from "../../src/config/load.ts";
import { defaultsOf } from "../../src/params.ts";
import { failoverParams, groupParams, type PolicyParams } from "../../src/routing/params.ts";
import { Router } from "../../src/routing/router.ts";
import { agentWith } from "../support/agents.ts";

const calls = 200_000;
const rounds = 5;

interface Size {
  readonly policies: number;
  readonly agents: number;
}

/** Prefixes of two to eight digits, all different. */
const prefixOf = (at: number): string => `${10 + (at % 90)}${at < 90 ? "" : String(Math.floor(at / 90))}`;

const policyOf = (at: number, groups: number): PolicyParams => ({
  "from-address": ["*"],
  "to-address": [prefixOf(at)],
  "source-realm": ["*"],
  methods: [],
  "policy-attributes": [{ "next-hop": `SAG:g${at % groups}`, cost: 0 }],
});

/** A router over groups of four agents, that are limited. */
function build({ policies, agents }: Size): Router {
  const params = Array.from({ length: agents }, (_, at) =>
    agentWith({
      hostname: `agent-${at}`,
      "ip-address": `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`,
      "max-outbound-sessions": 1_000,
      "max-burst-rate": 100_000,
    }),
  );
  const manager = new AgentManager(params, { clock: systemClock, random: Math.random, events: new AgentEvents() });
  const groups = Array.from({ length: Math.ceil(agents / 4) }, (_, at) => ({
    ...defaultsOf(groupParams),
    strategy: "least-busy" as const,
    "group-name": `g${at}`,
    dest: params.slice(at * 4, at * 4 + 4).map(({ hostname }) => hostname),
    failover: {},
  }));
  const list = Array.from({ length: policies }, (_, at) => policyOf(at, groups.length));
  return new Router({ groups, policies: list, failover: defaultsOf(failoverParams) }, manager);
}

/** The least CPU time of a call, µs, over some rounds: what disturbs the machine only ever adds. */
function microsecondsPerCall(router: Router, { policies }: Size): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage();
    for (let call = 0; call < calls; call++) {
      const to = `${prefixOf((call * 7_919) % policies)}5551234`;
      const request = {
        method: "INVITE",
        from: "33123",
        fromHost: "a",
        to,
        toHost: "b",
        sourceRealm: "default",
        at: 0,
      };
      const selection = router.plan(request).next();
      if (selection.kind !== "agent") throw new Error(`${to} was not routed: ${JSON.stringify(selection)}`);
      selection.lease.release("bye");
    }
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / calls);
  }
  return least;
}

for (const size of [
  { policies: 10, agents: 8 },
  { policies: 100_000, agents: 10_000 },
]) {
  const perCall = microsecondsPerCall(build(size), size);
  console.log(`${size.policies} policies, ${size.agents} agents: route + admit ${perCall.toFixed(2)} µs`);
}

/** MB in use after a collection, where node runs with --expose-gc. */
function heapMb(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1e6;
}

{
  const list = Array.from({ length: 100_000 }, (_, at) => policyOf(at, 2_500));
  const manager = new AgentManager([], { clock: systemClock, random: Math.random, events: new AgentEvents() });
  const heap = heapMb();
  const start = performance.now();
  const router = new Router({ groups: [], policies: list, failover: defaultsOf(failoverParams) }, manager);
  const took = performance.now() - start;
  console.log(`100000 policies indexed in ${took.toFixed(0)} ms, ${(heapMb() - heap).toFixed(0)} MB`);
  if ([...router.groups].length > 0) throw new Error("no group was configured");
}

{
  const yaml = [
    "session-agents: [{ hostname: a, ip-address: 127.0.0.1 }]",
    "local-policies:",
    ...Array.from(
      { length: 100_000 },
      (_, at) => `  - { to-address: ["${prefixOf(at)}"], policy-attributes: [{ next-hop: a, cost: 0 }] }`,
    ),
  ].join("\n");
  const heap = heapMb();
  const start = performance.now();
  const loaded = loadConfig(yaml, "bench.yaml", {});
  const took = performance.now() - start;
  if (!("config" in loaded)) throw new Error(`not valid: ${loaded.errors[0]?.text}`);
  const mb = (yaml.length / 1e6).toFixed(1);
  console.log(
    `a file of 100000 policies (${mb} MB) read in ${took.toFixed(0)} ms, ${(heapMb() - heap).toFixed(0)} MB kept`,
  );
}
