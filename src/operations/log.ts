import { isatty } from "node:tty";
import { destination, type Logger, pino } from "pino";
import pretty from "pino-pretty";
import type { WeirConfig } from "../config/config.ts";

export type Log = Logger;

const standardOutput = 1;
/** Lines are written together, up to so many bytes… */
const batchBytes = 4_096;
/** …or after so many milliseconds, whichever comes first, and all of them when the process exits. */
const flushMs = 200;
/** Lines that cannot be written are kept up to so many bytes; later ones are lost. */
const keptBytes = 16 * 1_024 * 1_024;

/** The log of this process: one JSON object a line on stdout, or text for people. A call's part of it is a child. */
export function createLog(config: WeirConfig["logging"]): Log {
  const options = {
    level: config.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (config.format === "pretty") return pino(options, pretty({ colorize: isatty(standardOutput), sync: true }));
  const batched = { dest: standardOutput, sync: false, minLength: batchBytes, periodicFlush: flushMs };
  return pino(options, outlivingItsReader(destination({ ...batched, maxLength: keptBytes })));
}

/** Resolves when all lines so far are written, or cannot be. */
export const flushed = (log: Log): Promise<void> => new Promise((resolve) => log.flush(() => resolve()));

type Destination = ReturnType<typeof destination>;

/**
 * Calls go on without a log where nobody reads it any more or the disk is full. The stream's own last flush, at exit, would
 * try for ever.
 */
function outlivingItsReader(stream: Destination): Destination {
  const flushSync = stream.flushSync.bind(stream);
  let failed = false;
  stream.on("error", () => {
    failed = true;
  });
  stream.on("write", () => {
    failed = false;
  });
  stream.flushSync = () => {
    if (!failed) flushSync();
  };
  return stream;
}
