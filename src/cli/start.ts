import { startWeir } from "../main.ts";
import { createLog, flushed } from "../operations/log.ts";
import { explain, readConfiguration } from "./configuration.ts";
import { exitCodes } from "./exit-codes.ts";
import { onShutdown } from "./shutdown-signals.ts";

/** `weir start`: runs until SIGTERM, SIGINT or SIGHUP, and then until the calls that are up have ended. The exit status. */
export async function start(file: string): Promise<number> {
  const config = await readConfiguration(file);
  if (!config) return exitCodes.configuration;
  const log = createLog(config.logging);
  let stop = (): void => process.exit(0);
  const shutdown = new Promise<void>((resolve) => {
    onShutdown({
      first(reason) {
        log.info({ reason }, "asked to end");
        resolve();
      },
      again(reason) {
        log.warn({ reason }, "asked again, not waiting for calls");
        stop();
      },
    });
  });
  try {
    const weir = await startWeir(config, { log });
    stop = () => void weir.stop();
    await shutdown;
    await weir.drain();
    return 0;
  } catch (error) {
    console.error(explain(error));
    return exitCodes.system;
  } finally {
    await flushed(log);
  }
}
