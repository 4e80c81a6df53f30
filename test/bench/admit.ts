/**
 * Admissions per second and memory per idle agent, at 10, 1,000 and 10,000 agents with every limit on. Two orders of calls: to
 * any agent at random, and to ten busy ones among them. Each round takes all fleets and both orders in turn, so that what
 * else the machine does, and its clock speed, touch them alike.
 *
 *     node --expose-gc --import tsx test/bench/admit.ts
 */
import { AgentEvents } from "../../src/agents/agent-events.ts";
import { AgentManager } from "../../src/agents/agent-manager.ts";
import type { AgentParams } from "../../src/agents/params.ts";
import type { AdmitRequest, SessionAgent } from "../../src/agents/session-agent.ts";
import { table } from "../../src/cli/table.ts";
import { systemClock } from "../../src/clock.ts";
import { agentWith } from "../support/agents.ts";

const everyLimit = {
  "max-sessions": 1_000_000,
  "max-inbound-sessions": 1_000_000,
  "max-outbound-sessions": 1_000_000,
  "max-burst-rate": 100_000,
  "max-inbound-burst-rate": 100_000,
  "max-outbound-burst-rate": 100_000,
  "max-sustain-rate": 100_000,
  "max-inbound-sustain-rate": 100_000,
  "max-outbound-sustain-rate": 100_000,
  "burst-rate-window": 100,
  "sustain-rate-window": 1_000,
  "min-asr": 10,
  "max-register-burst-rate": 100_000,
  "max-register-sustain-rate": 100_000,
  "rate-constraints": [
    {
      method: "INVITE",
      "max-inbound-burst-rate": 100_000,
      "max-outbound-burst-rate": 100_000,
      "max-inbound-sustain-rate": 100_000,
      "max-outbound-sustain-rate": 100_000,
    },
  ],
} as const;

const outbound: AdmitRequest = { direction: "outbound", method: "INVITE" };

/** How the agents that calls go to are chosen. */
const orders = ["any agent", "ten busy agents"] as const;

const rounds = 25;
const pairs = 100_000;
/** Brings the code and the agents of this fleet into the caches. */
const warmUpPairs = 30_000;

interface Fleet {
  readonly manager: AgentManager;
  readonly bytesPerAgent: number;
  /** The agents of one call after the other, by order. */
  readonly calls: Readonly<Record<(typeof orders)[number], readonly SessionAgent[]>>;
}

function fleetOf(count: number): Fleet {
  const params = Array.from({ length: count }, (_, i) =>
    agentWith({ ...everyLimit, hostname: `carrier-${i}`, "ip-address": `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}` }),
  );
  const before = heapUsed();
  const manager = managerOf(params);
  const bytesPerAgent = (heapUsed() - before) / count;
  const agents = [...manager];
  const busy = agents.filter((_, i) => i % (count / 10) === 0);
  return { manager, bytesPerAgent, calls: { "any agent": shuffled(agents), "ten busy agents": shuffled(busy) } };
}

/** One of them for each of many calls, at random, but the same in each run. */
function shuffled(agents: readonly SessionAgent[]): SessionAgent[] {
  let seed = 1;
  return Array.from({ length: pairs }, () => {
    seed = (seed * 16_807) % 2_147_483_647;
    return agents[seed % agents.length] as SessionAgent;
  });
}

/** Admits, answers and releases a call to each; gives pairs per second of CPU time, which other load on the machine hardly touches. */
function admitAndRelease(agents: readonly SessionAgent[]): number {
  let refused = 0;
  const start = process.cpuUsage();
  for (const agent of agents) {
    const admission = agent.admit(outbound);
    if (admission.admitted) {
      admission.lease.answered();
      admission.lease.release("bye");
    } else {
      refused++;
    }
  }
  const { user, system } = process.cpuUsage(start);
  if (refused > 0) throw new Error(`${refused} of ${agents.length} were refused: the figure would be of refusals`);
  return (agents.length * 1e6) / (user + system);
}

const managerOf = (params: readonly AgentParams[]): AgentManager =>
  new AgentManager(params, { clock: systemClock, random: () => 0.5, events: new AgentEvents() });

const heapUsed = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

/** Of a few agents the heap's own noise is more than their size. */
function memoryOf(count: number, bytes: number): string {
  if (!globalThis.gc) return "run with --expose-gc";
  return count < 1_000 ? "too few to weigh" : `${Math.round(bytes)} B`;
}

const fleets = new Map([10, 1_000, 10_000].map((count) => [count, fleetOf(count)]));
const rates = new Map<string, number[]>();
for (let round = 0; round < rounds; round++) {
  for (const [count, { calls }] of fleets) {
    for (const order of orders) {
      admitAndRelease(calls[order].slice(0, warmUpPairs));
      const key = `${count} ${order}`;
      rates.set(key, [...(rates.get(key) ?? []), admitAndRelease(calls[order])]);
    }
  }
}

const rateOf = (count: number, order: string): number => median(rates.get(`${count} ${order}`) ?? []);
/** Beside ten agents in the same round. */
const besideTen = (count: number, order: string): string => {
  const ten = rates.get(`10 ${order}`) ?? [];
  return `${Math.round(100 * median((rates.get(`${count} ${order}`) ?? []).map((rate, round) => rate / (ten[round] ?? 1))))} %`;
};
console.log(`Node ${process.version}; every limit on; admit + answered + release, per second of CPU time\n`);
console.log(
  table(
    ["AGENTS", ...orders.flatMap((order) => [order.toUpperCase(), "OF 10 AGENTS'"]), "MEMORY PER IDLE AGENT"],
    Array.from(fleets, ([count, { bytesPerAgent }]) => [
      String(count),
      ...orders.flatMap((order) => [Math.round(rateOf(count, order)).toLocaleString("en"), besideTen(count, order)]),
      memoryOf(count, bytesPerAgent),
    ]),
  ),
);
for (const { manager } of fleets.values()) manager.stop();
