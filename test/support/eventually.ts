import { setTimeout as pause } from "node:timers/promises";

/** How long a condition that holds within milliseconds on an idle machine may take on a busy one. */
const PATIENCE_MS = 10_000;

/**
 * Asks again every 25 ms until `look` gives something (not undefined, not false).
 * Throws after `patienceMs` with what was awaited, and with `found()` when given.
 */
export async function eventually<T>(
  awaited: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  options: { patienceMs?: number; found?: () => unknown } = {},
): Promise<T> {
  const { patienceMs = PATIENCE_MS, found } = options;
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const value = await look();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > deadline) {
      const instead = found ? `; found ${JSON.stringify(found())}` : "";
      throw new Error(`${awaited}: not within ${patienceMs} ms${instead}`);
    }
    await pause(25);
  }
}
