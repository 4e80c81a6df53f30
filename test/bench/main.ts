import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { freePort } from "../support/loopback.ts";
import { endChild } from "./child.ts";
import { longRun } from "./long-run.ts";
import { measure, type Point } from "./measure.ts";
import { startCarrier } from "./sipp.ts";
import { direct, loopback, type System, startKamailio, startWeir } from "./systems.ts";
import { resultTable } from "./table.ts";

interface Options {
  readonly rates: readonly number[];
  readonly seconds: number;
  readonly warmUp: number;
  readonly engineThread: boolean;
  readonly weir: boolean;
  readonly long: boolean;
}

const options = new Command("npm run bench --")
  .description(
    "Drives calls from SIPp through Weir to SIPp at fixed rates, and through Kamailio where it is installed.",
  )
  .option("--rates <list>", "calls per second, one point each", numbers, [300, 500, 1_000])
  .option("--seconds <n>", "length of the measured window", Number, 10)
  .option("--warm-up <n>", "seconds of the same load before it", Number, 5)
  .option("--engine-thread", "also measure Weir with its engine in a worker thread", false)
  .option("--no-weir", "measure the yardsticks alone")
  .option(
    "--long",
    "instead: 500 calls/s for 60 s without one failed, and the heap after 10,000 and 100,000 calls",
    false,
  )
  .parse()
  .opts<Options>();

const folder = mkdtempSync(join(tmpdir(), "weir-bench-"));
try {
  process.exitCode = options.long ? await longRun(folder) : await rateTable();
} finally {
  rmSync(folder, { recursive: true });
}

async function rateTable(): Promise<number> {
  const [carrierPort, callerPort] = [await freePort(loopback), await freePort(loopback)];
  const carrier = startCarrier(carrierPort);
  const weir = (engineThread: boolean): Promise<System> => startWeir({ carrierPort, callerPort, engineThread }, folder);
  const systems: System[] = [direct(carrierPort)];
  const points: Point[] = [];
  try {
    if (options.weir) systems.push(await weir(false));
    if (options.engineThread) systems.push(await weir(true));
    const kamailio = await startKamailio(carrierPort, folder);
    if (kamailio) systems.push(kamailio);
    console.log(`${cpus()[0]?.model ?? "unknown processor"}, ${cpus().length} cores, Node ${process.version}`);
    for (const rate of options.rates) {
      // One system after the other at each rate, so that what else the machine does falls on all of them alike.
      for (const system of systems) {
        console.log(`${rate} calls/s, ${system.name} ...`);
        const { warmUp: warmUpS, seconds } = options;
        points.push(await measure(system, { rate, warmUpS, seconds, callerPort, folder }));
      }
    }
    console.log(`\n${resultTable(points)}`);
  } finally {
    await Promise.all(systems.map((system) => system.stop()));
    await endChild(carrier);
  }
  return points.some(({ load, callsLeft }) => load.failed > 0 || callsLeft > 0) ? 1 : 0;
}

function numbers(list: string): number[] {
  return list.split(",").map(Number);
}
