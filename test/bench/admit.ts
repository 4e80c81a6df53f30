/**
 * Admissions per second and memory per idle agent, at 10, 1,000 and 10,000 agents with every limit on.
 *
 *     node --expose-gc --import tsx test/bench/admit.ts
 */
import { AgentEvents } from "../../src/agents/agent-events.ts";
import { AgentManager } from "../../src/agents/agent-manager.ts";
import type { AgentParams } from "../../src/agents/params.ts";
import type { AdmitRequest, SessionAgent } from "../../src/agents/session-agent.ts";
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

/** Admits, answers and releases in turn over all agents; gives pairs per second of CPU time, which other load on the machine does not touch. */
function admitAndRelease(agents: readonly SessionAgent[], pairs: number): number {
  let refused = 0;
  const start = process.cpuUsage();
  for (let i = 0, at = 0; i < pairs; i++) {
    const admission = agents[at]?.admit(outbound);
    if (admission?.admitted) {
      admission.lease.answered();
      admission.lease.release("bye");
    } else {
      refused++;
    }
    at = at + 1 === agents.length ? 0 : at + 1;
  }
  const { user, system } = process.cpuUsage(start);
  if (refused > 0) throw new Error(`${refused} of ${pairs} were refused: the figure would be of refusals`);
  return (pairs * 1e6) / (user + system);
}

const managerOf = (params: readonly AgentParams[]): AgentManager =>
  new AgentManager(params, { clock: systemClock, random: () => 0.5, events: new AgentEvents() });

const heapUsed = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};

/** Of a few agents the heap's own noise is more than their size. */
const memoryOf = (count: number, bytes: number): string =>
  count < 1_000 ? "too few to weigh" : `${Math.round(bytes)} B per idle agent`;

console.log(`Node ${process.version}; every limit on; admit + answered + release, per second of CPU time`);
for (const count of [10, 1_000, 10_000]) {
  const params = Array.from({ length: count }, (_, i) =>
    agentWith({ ...everyLimit, hostname: `carrier-${i}`, "ip-address": `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}` }),
  );
  const before = heapUsed();
  const manager = managerOf(params);
  const bytes = (heapUsed() - before) / count;
  const agents = [...manager];
  admitAndRelease(agents, 500_000);
  const rate = admitAndRelease(agents, 2_000_000);
  manager.stop();
  const memory = globalThis.gc ? memoryOf(count, bytes) : "run with --expose-gc for memory";
  console.log(`${count.toString().padStart(6)} agents: ${Math.round(rate).toLocaleString("en")} /s, ${memory}`);
}
