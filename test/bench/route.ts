// Route and admit with few and with many policies. Run: `node --import tsx test/bench/route.ts`.
import { AgentEvents } from "../../src/agents/agent-events.ts";
import { AgentManager } from "../../src/agents/agent-manager.ts";
import { systemClock } from "../../src/clock.ts";
import { defaultsOf } from "../../src/params.ts";
import { failoverParams, groupParams, type PolicyParams } from "../../src/routing/params.ts";
import { Router } from "../../src/routing/router.ts";
import { agentWith } from "../support/agents.ts";
import { prefixOf } from "./large-config.ts";

const calls = 200_000;
const rounds = 5;

interface Size {
  readonly policies: number;
  readonly agents: number;
}

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
      "max-burst-rate": 100_000_000,
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
