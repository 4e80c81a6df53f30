import type { WeirConfig } from "../config/config.ts";
import { loadConfigFile } from "../config/load.ts";
import { formatProblem } from "../config/problems.ts";
import { WeirError } from "../errors.ts";

/** Where the configuration is when the command line does not say. */
export const defaultConfigFile = "config/weir.yaml";

/** The configuration of a file, with everything wrong or odd in it on stderr. Undefined = not valid. */
export async function readConfiguration(file: string): Promise<WeirConfig | undefined> {
  try {
    const loaded = await loadConfigFile(file);
    for (const problem of loaded.warnings) console.error(formatProblem(problem));
    if ("config" in loaded) return loaded.config;
    for (const problem of loaded.errors) console.error(formatProblem(problem));
    const count = loaded.errors.length;
    console.error(`${file}: ${count} ${count === 1 ? "error" : "errors"}`);
  } catch (error) {
    console.error(`${file}: ${explain(error)}`);
  }
  return undefined;
}

/** One of our own errors with its cause, in one line. Any other is a defect, and is thrown on. */
export function explain(error: unknown): string {
  if (!(error instanceof WeirError)) throw error;
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
