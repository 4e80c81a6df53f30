import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const ticksPerSecond = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** A process and everything it started, by their ids. */
function family(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return [
    pid,
    ...children
      .split(" ")
      .filter(Boolean)
      .flatMap((child) => family(Number(child))),
  ];
}

/** Milliseconds of CPU, user and system, that all threads of a process and of its children have used so far. */
export function cpuMs(pid: number): number {
  const ticks = family(pid).reduce((sum, each) => {
    const stat = readFileSync(`/proc/${each}/stat`, "utf8");
    // The name in brackets may hold anything; utime and stime are the 12th and 13th fields after it (proc(5)).
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return sum + Number(fields[11]) + Number(fields[12]);
  }, 0);
  return (ticks * 1_000) / ticksPerSecond;
}

/** Megabytes of resident memory of a process and its children; memory that they share counts once. */
export function residentMb(pid: number): number {
  const kilobytes = family(pid).reduce((sum, each) => {
    const pss = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${each}/smaps_rollup`, "utf8"));
    return sum + Number(pss?.[1] ?? 0);
  }, 0);
  return kilobytes / 1_024;
}
