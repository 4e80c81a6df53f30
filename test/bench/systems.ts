import { type ChildProcess, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/loopback.ts";
import { endChild, launch } from "./child.ts";
import { cpuMs, residentMb } from "./proc.ts";

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export const loopback = "127.0.0.1";

/** What stands between the caller and the carrier while a point is measured. */
export interface System {
  readonly name: string;
  /** UDP port on loopback that takes the calls. */
  readonly port: number;
  /** Milliseconds of CPU used since its start. */
  cpuMs(): number;
  residentMb(): number;
  /** Megabytes of JavaScript heap after a full collection; undefined for a program that has none. */
  heapMb(): Promise<number | undefined>;
  /** Calls that it still holds; must come to zero after each run. */
  callsLeft(): Promise<number>;
  stop(): Promise<void>;
}

/** Nothing in between: what the caller and the carrier cost each other, to be taken off the delays of the others. */
export function direct(carrierPort: number): System {
  return {
    name: "direct",
    port: carrierPort,
    cpuMs: () => 0,
    residentMb: () => 0,
    heapMb: async () => undefined,
    callsLeft: async () => 0,
    stop: async () => {},
  };
}

/** The built program in a process of its own, with limits on both agents; `engineThread` puts the engine in a worker. */
export async function startWeir(
  options: { readonly carrierPort: number; readonly callerPort: number; readonly engineThread: boolean },
  folder: string,
): Promise<System> {
  return launchWeir(
    options.engineThread ? "weir, engine in a thread" : "weir",
    (
      listen,
      admin,
    ) => `signalling: { engine: embedded, thread: ${options.engineThread ? "worker" : "same"}, listen: ["${listen}"] }
admin: { listen: "${admin}" }
logging: { level: error }
drain: { timeout: 2 }
session-agents:
  - { hostname: caller, ip-address: 127.0.0.1, port: ${options.callerPort}, max-sessions: 50000, max-inbound-sessions: 50000,
      max-inbound-burst-rate: 50000, max-inbound-sustain-rate: 50000 }
  - { hostname: carrier, ip-address: 127.0.0.1, port: ${options.carrierPort}, max-sessions: 50000, max-outbound-sessions: 50000,
      max-burst-rate: 50000, max-outbound-burst-rate: 50000, max-sustain-rate: 50000, max-outbound-sustain-rate: 50000 }
session-agent-groups:
  - { group-name: carriers, strategy: round-robin, dest: [carrier] }
local-policies:
  - { from-address: ["*"], to-address: ["*"], source-realm: ["*"], policy-attributes: [{ next-hop: "SAG:carriers", cost: 0 }] }
`,
    folder,
  );
}

/** A system with an admin API. */
export interface WeirSystem extends System {
  /** Base URL of its admin API. */
  readonly admin: string;
}

/** The built program with a configuration that is told where to listen: for SIP over UDP, and for its admin API. */
export async function launchWeir(
  name: string,
  configuration: (listen: string, admin: string) => string,
  folder: string,
): Promise<WeirSystem> {
  const port = await freePort(loopback);
  const adminPort = await freePort(loopback);
  const config = join(folder, "weir.yaml");
  writeFileSync(config, configuration(`udp://127.0.0.1:${port}`, `127.0.0.1:${adminPort}`));
  const child = launch(
    process.execPath,
    ["--expose-gc", "--import", file("heap-probe.mjs"), file("../../dist/cli/weir.js"), "start", "--config", config],
    { stdio: ["ignore", "inherit", "inherit", "ipc"] },
  );
  const admin = `http://127.0.0.1:${adminPort}`;
  try {
    const ready = async () => (await fetch(`${admin}/readyz`).catch(() => undefined))?.ok;
    await eventually("weir ready", ready, { patienceMs: 60_000 });
  } catch (error) {
    await endChild(child);
    throw error;
  }
  return {
    name,
    port,
    admin,
    ...costs(child),
    heapMb: async () => {
      child.send("heap");
      const [bytes] = (await once(child, "message")) as [number];
      return bytes / 1_048_576;
    },
    callsLeft: async () => activeSessions(await (await fetch(`${admin}/v1/agents`)).json()),
    stop: async () => {
      const status = await endChild(child);
      if (status !== 0) throw new Error(`weir ended with status ${status}`);
    },
  };
}

/** Kamailio as a stateful proxy, see kamailio.cfg; undefined where it is not installed. */
export async function startKamailio(carrierPort: number, folder: string): Promise<System | undefined> {
  if (spawnSync("kamailio", ["-v"], { stdio: "ignore" }).error !== undefined) return undefined;
  const port = await freePort(loopback);
  const destinations = join(folder, "dispatcher.list");
  writeFileSync(destinations, `1 sip:127.0.0.1:${carrierPort} 0 0 duid=carrier\n`);
  const child = launch(
    "kamailio",
    // biome-ignore format: one option a line hides the command
    ["-f", file("kamailio.cfg"), "-DD", "-E", "-m", "512", "-Y", folder, "-P", join(folder, "kamailio.pid"),
      "-A", `LISTEN=udp:127.0.0.1:${port}`, "-A", `DESTINATIONS="${destinations}"`],
    { stdio: "ignore" },
  );
  await eventually("kamailio listening", () => listensOn(port));
  return {
    name: "kamailio",
    port,
    ...costs(child),
    heapMb: async () => undefined,
    callsLeft: async () => 0,
    stop: async () => void (await endChild(child)),
  };
}

function costs(child: ChildProcess): Pick<System, "cpuMs" | "residentMb"> {
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${child.spawnfile} could not be started`);
  return { cpuMs: () => cpuMs(pid), residentMb: () => residentMb(pid) };
}

function activeSessions(answer: unknown): number {
  const { agents } = answer as { agents: { sessions: { total: { active: number } } }[] };
  return agents.reduce((sum, agent) => sum + agent.sessions.total.active, 0);
}

function listensOn(port: number): boolean {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  return readFileSync("/proc/net/udp", "utf8").includes(`:${hex} `);
}
