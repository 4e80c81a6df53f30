import { eventually } from "../support/eventually.ts";
import { type Delays, probeDelays } from "./delay-probe.ts";
import { type LoadResult, runLoad } from "./sipp.ts";
import type { System } from "./systems.ts";

/** Sampled calls per second, beside the load. */
const probesPerSecond = 20;

export interface Point {
  readonly system: string;
  /** Calls per second. */
  readonly rate: number;
  readonly load: LoadResult;
  readonly delays: Delays;
  readonly cpuMsPerCall: number;
  readonly residentMb: number;
  readonly callsLeft: number;
}

export interface Plan {
  readonly rate: number;
  readonly warmUpS: number;
  readonly seconds: number;
  readonly callerPort: number;
  readonly folder: string;
}

/** Loads a system at one rate: first to warm it up, then to measure it from the first call to the end of the last. */
export async function measure(system: System, plan: Plan): Promise<Point> {
  const { rate, folder } = plan;
  const load = (calls: number): Promise<LoadResult> =>
    runLoad({ port: system.port, localPort: plan.callerPort, rate, calls, folder });
  await load(rate * plan.warmUpS);

  const before = system.cpuMs();
  const [result, delays] = await Promise.all([
    load(rate * plan.seconds),
    probeDelays(system.port, probesPerSecond, plan.seconds),
  ]);
  const used = system.cpuMs() - before;
  return {
    system: system.name,
    rate,
    load: result,
    delays,
    cpuMsPerCall: used / (result.calls + delays.calls),
    residentMb: system.residentMb(),
    callsLeft: await callsLeft(system),
  };
}

/** Calls still held once the last hang-ups have had their time. */
export async function callsLeft(system: System): Promise<number> {
  let left = 0;
  await eventually("no call left", async () => {
    left = await system.callsLeft();
    return left === 0;
  }).catch(() => undefined);
  return left;
}
