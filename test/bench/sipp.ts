import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { endChild, launch } from "./child.ts";

const host = "127.0.0.1";
/** SIPp's own default socket buffers hold some fifty messages: a burst would be lost before it is read. */
const common = ["-i", host, "-nostdin", "-buff_size", "4194304"];
const scenario = (name: string): string => fileURLToPath(new URL(`${name}.xml`, import.meta.url));

export interface Load {
  /** Where the calls go, and where they come from: UDP ports on loopback. */
  readonly port: number;
  readonly localPort: number;
  /** Calls per second. */
  readonly rate: number;
  readonly calls: number;
  /** Folder for SIPp's statistics. */
  readonly folder: string;
}

export interface LoadResult {
  readonly calls: number;
  readonly failed: number;
  /** Of the caller: requests it sent again. */
  readonly retransmissions: number;
}

/** Starts a SIPp that answers every call at once. Give it to `endChild` when done. */
export function startCarrier(port: number): ChildProcess {
  return launch("sipp", ["-sf", scenario("uas"), "-p", `${port}`, "-aa", ...common], { stdio: "ignore" });
}

/** Places `calls` calls at a fixed rate, and reports once the last one has ended. */
export async function runLoad(load: Load): Promise<LoadResult> {
  const statistics = join(load.folder, `caller-${load.localPort}-${Date.now()}.csv`);
  const sipp = launch(
    "sipp",
    // biome-ignore format: one option a line hides the command
    [`${host}:${load.port}`, "-sf", scenario("uac"), "-p", `${load.localPort}`, "-s", "15551000", ...common,
      "-r", `${load.rate}`, "-m", `${load.calls}`, "-l", "100000", "-trace_stat", "-stf", statistics, "-fd", "1"],
    { stdio: "ignore" },
  );
  // A system that answers nothing would hold each call for half a minute (64 × T1): give up well after that.
  const limit = setTimeout(() => void endChild(sipp), (load.calls / load.rate) * 1_000 + 60_000);
  await once(sipp, "exit");
  clearTimeout(limit);
  return readStatistics(readFileSync(statistics, "utf8"), load.calls);
}

/** The counters of SIPp's statistics file: its last row holds the totals. A call that never came to an end has failed. */
export function readStatistics(csv: string, calls: number): LoadResult {
  const lines = csv.trim().split("\n");
  const names = (lines[0] ?? "").split(";");
  const values = (lines.at(-1) ?? "").split(";");
  const total = (name: string): number => Number(values[names.indexOf(`${name}(C)`)]);
  return { calls, failed: calls - total("SuccessfulCall"), retransmissions: total("Retransmissions") };
}
