import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { table } from "../../src/cli/table.ts";
import { launchWeir, loopback, type WeirSystem } from "../bench/systems.ts";
import { eventually } from "../support/eventually.ts";
import { type Endpoint, freePort } from "../support/loopback.ts";
import { SoakAgent } from "./agent.ts";
import { SoakCaller } from "./caller.ts";
import { kindOf, kinds, numberOf } from "./kinds.ts";

const options = new Command("npm run soak --")
  .description(
    "Calls of every kind through Weir while its agents restart: at the end every count is 0 and the heap flat.",
  )
  .option("--calls <n>", "calls in all", Number, 200_000)
  .option("--rate <n>", "calls per second", Number, 400)
  .option("--restart <s>", "seconds between restarts of an agent, one after the other", Number, 5)
  .parse()
  .opts<{ calls: number; rate: number; restart: number }>();

/** RFC 3261 T1 of Weir, milliseconds. Transactions last 64 times as long. */
const t1 = 200;
/** Calls at once. A machine that cannot keep up is given fewer calls a second, and not ever longer queues. */
const mostOpen = 1_000;
const agentNames = ["north", "east", "south", "west"] as const;

/** What the calls of each kind came to. */
const ends = new Map<string, Map<string, number>>(kinds.map(({ name }) => [name, new Map<string, number>()]));
const faults: string[] = [];

const folder = mkdtempSync(join(tmpdir(), "weir-soak-"));
try {
  await soak();
} finally {
  rmSync(folder, { recursive: true });
}
for (const fault of faults) console.log(`FAULT: ${fault}`);
process.exitCode = faults.length > 0 ? 1 : 0;

async function soak(): Promise<void> {
  const places: Endpoint[] = [];
  for (const _ of agentNames) places.push({ address: loopback, port: await freePort(loopback) });
  const callerPlace = { address: loopback, port: await freePort(loopback) };
  const weir = await launchWeir("weir", (listen, admin) => configuration(listen, admin, places, callerPlace), folder);
  const peer = { address: loopback, port: weir.port };
  const agents = places.map((place, index) => new SoakAgent(index, place, peer));
  for (const agent of agents) await agent.start();
  const caller = await SoakCaller.open(callerPlace, peer, count);
  let turn = 0;
  const restarts = setInterval(() => void agents[turn++ % agents.length]?.restart(), options.restart * 1_000);
  try {
    console.log(`${cpus()[0]?.model ?? "unknown processor"}, ${cpus().length} cores, Node ${process.version}`);
    const warmUp = Math.floor(options.calls / 10);
    const begun = performance.now();
    await place(caller, 0, warmUp);
    const first = await settled(weir, caller);
    await place(caller, warmUp, options.calls);
    clearInterval(restarts);
    const last = await settled(weir, caller);
    const cpu = weir.cpuMs();
    report((performance.now() - begun) / 1_000, cpu, agents);
    for (const story of caller.oddStories) console.log(`${story}\n`);
    const growth = last / first - 1;
    console.log(`heap ${first.toFixed(1)} MB after ${warmUp} calls, ${last.toFixed(1)} MB after ${options.calls}`);
    if (growth > 0.1) faults.push(`the heap has grown by ${(growth * 100).toFixed(0)} %`);
    await examine(weir);
  } finally {
    clearInterval(restarts);
    caller.close();
    for (const agent of agents) agent.stop();
    await weir.stop();
  }
}

/** Places the calls from one to another number, evenly as far as the machine keeps up. */
async function place(caller: SoakCaller, from: number, to: number): Promise<void> {
  const begun = performance.now();
  let told = from;
  for (let call = from; call < to; ) {
    if (call - told >= options.calls / 10) {
      told = call;
      console.log(`${call} of ${options.calls} calls placed, ${caller.open} open`);
    }
    const due = Math.min(to, from + Math.floor(((performance.now() - begun) * options.rate) / 1_000));
    while (call < due && caller.open < mostOpen) caller.place(numberOf(call++));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Waits for the last call's end and for the end of what its transactions keep; megabytes of heap then. */
async function settled(weir: WeirSystem, caller: SoakCaller): Promise<number> {
  await eventually("the end of the last call", () => caller.open === 0, { patienceMs: 60_000 });
  await new Promise((resolve) => setTimeout(resolve, 2 * 64 * t1));
  return (await weir.heapMb()) ?? 0;
}

/** Everything that must be zero now. */
async function examine(weir: WeirSystem): Promise<void> {
  const metrics = await (await fetch(`${weir.admin}/metrics`)).text();
  const sum = (series: string): number =>
    [...metrics.matchAll(new RegExp(`^${series}(?:\\{[^}]*\\})? (\\S+)$`, "gm"))].reduce(
      (total, match) => total + Number(match[1]),
      0,
    );
  const rows = ["weir_agent_sessions", "weir_calls_active", "weir_defects_total"].map((name) => {
    if (!metrics.includes(`# TYPE ${name} `)) faults.push(`/metrics knows no ${name}`);
    return [name, sum(name)] as const;
  });
  const { calls } = (await (await fetch(`${weir.admin}/v1/calls`)).json()) as { calls: unknown[] };
  for (const call of calls.slice(0, 10)) console.log(JSON.stringify(call));
  for (const [what, left] of [...rows, ["calls listed", calls.length] as const]) {
    console.log(`${what}: ${left}`);
    if (left !== 0) faults.push(`${what} is ${left} at the end`);
  }
}

function count(number: string, end: string): void {
  const ofKind = ends.get(kindOf(number).name);
  ofKind?.set(end, (ofKind.get(end) ?? 0) + 1);
}

function report(seconds: number, cpuMs: number, agents: readonly SoakAgent[]): void {
  const rows = Array.from(ends, ([name, counts]) => {
    const all = Array.from(counts).sort(([, a], [, b]) => b - a);
    const total = all.reduce((sum, [, calls]) => sum + calls, 0);
    for (const [end, calls] of all) {
      if (end.startsWith("lost") || end.endsWith("(not expected)")) faults.push(`${calls} of "${name}" ended: ${end}`);
    }
    return [name, String(total), all.map(([end, calls]) => `${end} ${calls}`).join(", ")];
  });
  console.log(`\n${table(["KIND", "CALLS", "ENDS"], rows)}\n`);
  const restarts = agents.reduce((sum, agent) => sum + agent.restarts, 0);
  const perCall = (cpuMs / options.calls).toFixed(3);
  console.log(`${seconds.toFixed(0)} s, ${restarts} restarts of agents, ${perCall} CPU-ms per call`);
}

function configuration(listen: string, admin: string, places: readonly Endpoint[], caller: Endpoint): string {
  const limits = "max-sessions: 50000, max-burst-rate: 50000, max-sustain-rate: 50000, min-asr: 1, min-seizures: 1000";
  const agents = agentNames.map((name, index) => {
    const ping = "ping-method: OPTIONS, ping-interval: 0.5, ping-send-mode: keep-alive";
    return `  - { hostname: ${name}, ip-address: ${loopback}, port: ${places[index]?.port}, trans-timeouts: 0, time-to-resume: 2, ${ping}, ${limits} }`;
  });
  return `signalling: { listen: ["${listen}"], timers: { t1: ${t1}, t2: 800, t4: 1000 } }
admin: { listen: "${admin}" }
logging: { level: error }
drain: { timeout: 2 }
failover: { first-response-timeout: 1 }
session-agents:
  - { hostname: caller, ip-address: ${loopback}, port: ${caller.port}, ${limits}, time-to-resume: 2 }
${agents.join("\n")}
session-agent-groups:
  - { group-name: carriers, strategy: round-robin, dest: [${agentNames.join(", ")}] }
local-policies:
  - { policy-attributes: [{ next-hop: "SAG:carriers" }] }
`;
}
