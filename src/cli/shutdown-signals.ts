import { type Clock, type Ms, systemClock } from "../clock.ts";
import { startedByNpm } from "../config/environment.ts";

export interface ShutdownHandlers {
  /** The first SIGTERM, SIGINT or SIGHUP, or the death of the npm that started us. */
  first(reason: string): void;
  /** A later signal: whoever sends it does not want to wait. */
  again(reason: string): void;
}

/**
 * npm passes signals on to a program that a terminal has already sent them to: Ctrl-C comes twice. What follows within
 * this time is the same wish.
 */
const sameWishMs: Ms = 500;
/** How often it is looked whether npm is still there. */
const watchMs: Ms = 250;

/** A terminal that is closed (SIGHUP) is no reason to cut calls short either. */
const signals = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** Hears when the program is to end. Returns "stop listening". */
export function onShutdown(handlers: ShutdownHandlers, clock: Clock = systemClock): () => void {
  let firstAt: Ms | undefined;
  const wish = (reason: string): void => {
    const now = clock.now();
    if (firstAt === undefined) {
      firstAt = now;
      handlers.first(reason);
    } else if (now - firstAt > sameWishMs) handlers.again(reason);
  };
  const onSignal = (signal: NodeJS.Signals): void => wish(signal);
  for (const signal of signals) process.on(signal, onSignal);

  const parent = process.ppid;
  const watch = startedByNpm() ? setInterval(() => process.ppid !== parent && orphaned(), watchMs) : undefined;
  watch?.unref();
  const orphaned = (): void => {
    clearInterval(watch);
    // npm that ends of the same Ctrl-C is no second wish.
    if (firstAt === undefined) wish("npm has ended");
  };
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
    clearInterval(watch);
  };
}
