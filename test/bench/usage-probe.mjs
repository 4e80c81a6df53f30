// Loaded into the measured process with `node --import`: tells its parent at its end what it has used, on descriptor 3.
import { writeSync } from "node:fs";

process.once("exit", () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  writeSync(3, JSON.stringify({ cpuS: (userCPUTime + systemCPUTime) / 1e6, peakMb: maxRSS / 1_024 }));
});
