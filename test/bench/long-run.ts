import { freePort } from "../support/loopback.ts";
import { endChild } from "./child.ts";
import { callsLeft } from "./measure.ts";
import { runLoad, startCarrier } from "./sipp.ts";
import { loopback, type System, startWeir } from "./systems.ts";

/** Seconds after which nothing of a finished call is kept: the longest transaction timers run 64 × T1 = 32 s. */
const cleanUpS = 35;

/**
 * Is the load held, and is nothing kept of it? 10,000 calls, then 500 calls/s for a minute of which none may fail, then
 * calls up to 100,000; the heap after the last may be at most a tenth above that after the first. Gives the exit status.
 */
export async function longRun(folder: string): Promise<number> {
  const [carrierPort, callerPort] = [await freePort(loopback), await freePort(loopback)];
  const carrier = startCarrier(carrierPort);
  const weir = await startWeir({ carrierPort, callerPort, engineThread: false }, folder);
  const faults: string[] = [];
  const run = async (rate: number, calls: number): Promise<void> => {
    const cpuBefore = weir.cpuMs();
    const { failed, retransmissions } = await runLoad({ port: weir.port, localPort: callerPort, rate, calls, folder });
    const perCall = ((weir.cpuMs() - cpuBefore) / calls).toFixed(3);
    console.log(`${calls} calls at ${rate}/s: ${failed} failed, ${retransmissions} resent, ${perCall} CPU-ms per call`);
    if (failed > 0) faults.push(`${failed} of ${calls} calls failed at ${rate} calls/s`);
    const left = await callsLeft(weir);
    if (left > 0) faults.push(`${left} calls are left over`);
  };
  try {
    await run(500, 10_000);
    const first = await settledHeap(weir);
    await run(500, 30_000);
    await run(500, 60_000);
    const last = await settledHeap(weir);
    const growth = last / first - 1;
    console.log(
      `heap after 10,000 calls ${first.toFixed(1)} MB, after 100,000 ${last.toFixed(1)} MB: ${(growth * 100).toFixed(1)} %`,
    );
    if (growth > 0.1) faults.push("the heap grows with the number of calls");
  } finally {
    await weir.stop();
    await endChild(carrier);
  }
  for (const fault of faults) console.log(`FAULT: ${fault}`);
  return faults.length > 0 ? 1 : 0;
}

async function settledHeap(weir: System): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, cleanUpS * 1_000));
  return (await weir.heapMb()) ?? 0;
}
