import { table } from "../../src/cli/table.ts";
import type { Point } from "./measure.ts";

/**
 * The bench's result. Delays are what a system adds to the same calls without it, percentile by percentile; the ratio is
 * CPU per call against Kamailio's at the same rate in the same run.
 */
export function resultTable(points: readonly Point[]): string {
  const rows = points
    .filter(({ system }) => system !== "direct")
    .map((point) => {
      const at = (system: string): Point | undefined =>
        points.find((other) => other.system === system && other.rate === point.rate);
      const added = (p: "p50" | "p99"): string => (point.delays[p] - (at("direct")?.delays[p] ?? 0)).toFixed(2);
      const yardstick = at("kamailio")?.cpuMsPerCall;
      return [
        `${point.rate}`,
        point.system,
        `${point.load.calls}`,
        `${point.load.failed}`,
        `${point.load.retransmissions}`,
        point.cpuMsPerCall.toFixed(3),
        yardstick === undefined ? "-" : (point.cpuMsPerCall / yardstick).toFixed(2),
        added("p50"),
        added("p99"),
        point.residentMb.toFixed(0),
        `${point.callsLeft}`,
      ];
    });
  const head = [
    "calls/s",
    "system",
    "calls",
    "failed",
    "resent",
    "CPU-ms/call",
    "÷ kamailio",
    "+p50 ms",
    "+p99 ms",
    "RSS MB",
    "left",
  ];
  return table(head, rows);
}
