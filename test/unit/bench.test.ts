import { describe, expect, it } from "vitest";
import { quantile } from "../bench/delay-probe.ts";
import { readStatistics } from "../bench/sipp.ts";
import { resultTable } from "../bench/table.ts";

describe("the figures of the bench", () => {
  it("come from the totals in the last row of SIPp's statistics", () => {
    const csv = [
      "StartTime;SuccessfulCall(P);SuccessfulCall(C);Retransmissions(P);Retransmissions(C);",
      "t;5;5;1;1;",
      "t;4;9;0;3;",
    ].join("\n");
    expect(readStatistics(csv, 10)).toEqual({ calls: 10, failed: 1, retransmissions: 3 });
  });

  it("take quantiles of the sorted values", () => {
    const values = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(quantile(values, 0.5)).toBe(51);
    expect(quantile(values, 0.99)).toBe(100);
    expect(quantile([], 0.5)).toBeNaN();
  });

  it("take the direct calls' delay off, and compare with Kamailio at the same rate", () => {
    const point = (system: string, rate: number, cpuMsPerCall: number, p50: number) => ({
      system,
      rate,
      cpuMsPerCall,
      load: { calls: rate * 10, failed: 0, retransmissions: 0 },
      delays: { calls: 200, p50, p99: 2 * p50 },
      residentMb: 100,
      callsLeft: 0,
    });
    const points = [
      point("direct", 300, 0, 0.5),
      point("weir", 300, 0.9, 1.5),
      point("kamailio", 300, 0.6, 1),
      point("direct", 500, 0, 0.5),
      point("weir", 500, 0.6, 1),
    ];
    const cells = resultTable(points)
      .split("\n")
      .map((line) => line.trim().split(/\s{2,}/));
    expect(cells).toHaveLength(4);
    expect(cells[1]).toEqual(["300", "weir", "3000", "0", "0", "0.900", "1.50", "1.00", "2.00", "100", "0"]);
    expect(cells[2]?.[6]).toBe("1.00");
    expect(cells[3]?.[6]).toBe("-");
  });
});
