/**
 * What a large configuration costs to load: stage by stage, and as `weir check` and its peak of memory, each beside what
 * a program without work and the check of a small file take. Run: `npm run build && node --expose-gc --import tsx test/bench/load.ts`.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AgentEvents } from "../../src/agents/agent-events.ts";
import { AgentManager } from "../../src/agents/agent-manager.ts";
import { table } from "../../src/cli/table.ts";
import { systemClock } from "../../src/clock.ts";
import { loadConfig } from "../../src/config/load.ts";
import { Problems } from "../../src/config/problems.ts";
import type { SourceNode } from "../../src/config/source-node.ts";
import { parseYaml } from "../../src/config/yaml-source.ts";
import { Router } from "../../src/routing/router.ts";
import { launch } from "./child.ts";
import { largeConfig, styles } from "./large-config.ts";

const rounds = 3;
const large = { policies: 100_000, agents: 10_000 };
const pathOf = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

interface Usage {
  readonly cpuS: number;
  readonly peakMb: number;
}

/** What a program of ours uses in a process of its own: the median of some runs. */
async function usageOf(...parameters: string[]): Promise<Usage> {
  const usages: Usage[] = [];
  for (let round = 0; round < rounds; round++) usages.push(await run(parameters));
  return { cpuS: median(usages.map(({ cpuS }) => cpuS)), peakMb: median(usages.map(({ peakMb }) => peakMb)) };
}

async function run(parameters: readonly string[]): Promise<Usage> {
  const probe = ["--import", pathOf("usage-probe.mjs")];
  const child = launch(process.execPath, [...probe, ...parameters], { stdio: ["ignore", "ignore", "inherit", "pipe"] });
  let told = "";
  child.stdio[3]?.on("data", (data: Buffer) => {
    told += data.toString();
  });
  const [status] = await once(child, "close");
  if (status !== 0) throw new Error(`${parameters.join(" ")} ended with ${status}`);
  return JSON.parse(told);
}

/** Seconds of CPU of each stage, and MB that are in use after the last that were not before the first. */
function stages(text: string) {
  const heap = heapMb();
  const [reading] = timed(() => {
    const root = parseYaml(text, new Problems("bench.yaml"));
    if (!root) throw new Error("not read");
    return visit(root);
  });
  const [loading, loaded] = timed(() => loadConfig(text, "bench.yaml", {}));
  if (!("config" in loaded)) throw new Error(`not valid: ${loaded.errors[0]?.text}`);
  const { config } = loaded;
  const configured = heapMb();
  const outside = { clock: systemClock, random: Math.random, events: new AgentEvents() };
  const agents = new AgentManager(config["session-agents"], outside);
  const withAgents = heapMb();
  const routing = { groups: config["session-agent-groups"], policies: config["local-policies"], ...config };
  const [indexing, router] = timed(() => new Router(routing, agents));
  const indexed = heapMb();
  if ([...router.groups].length === 0) throw new Error("no group was configured");
  return {
    cpuS: { reading, validating: loading - reading, indexing },
    keptMb: { configuration: configured - heap, index: indexed - withAgents },
  };
}

/** Reads every item, as validation does. */
function visit(node: SourceNode): number {
  let count = 1;
  if (node.kind === "list") for (const item of node.items) count += visit(item);
  if (node.kind === "map") for (const { value } of node.entries.values()) count += visit(value);
  return count;
}

function timed<T>(work: () => T): [seconds: number, result: T] {
  const before = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(before);
  return [(user + system) / 1e6, result];
}

function heapMb(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1e6;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

const folder = mkdtempSync(join(tmpdir(), "weir-bench-"));
try {
  const usages: [string, Usage][] = [["a program without work", await usageOf("-e", "0")]];
  const check = async (name: string, text: string): Promise<void> => {
    const file = join(folder, "weir.yaml");
    writeFileSync(file, text);
    usages.push([`weir check, ${name}`, await usageOf(pathOf("../../dist/cli/weir.js"), "check", file)]);
  };
  await check("a small file", largeConfig({ policies: 4, agents: 4 }, styles.flow));
  for (const [name, style] of Object.entries(styles)) {
    const text = largeConfig(large, style);
    const { cpuS, keptMb } = stages(text);
    const seconds = Object.entries(cpuS).map(([stage, used]) => `${stage} ${used.toFixed(2)} s`);
    const kept = Object.entries(keptMb).map(([what, mb]) => `${what} ${mb.toFixed(0)} MB`);
    console.log(`${name} style, ${(text.length / 1e6).toFixed(1)} MB: ${seconds.join(", ")}; kept: ${kept.join(", ")}`);
    await check(`${name} style`, text);
  }
  const rows = usages.map(([name, { cpuS, peakMb }]) => [name, cpuS.toFixed(2), peakMb.toFixed(0)]);
  console.log(table([`${large.policies} policies, ${large.agents} agents`, "CPU-s", "peak MB"], rows));
} finally {
  rmSync(folder, { recursive: true });
}
