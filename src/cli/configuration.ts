import type { WeirConfig } from "../config/config.ts";
import { loadConfigFile } from "../config/load.ts";
import { formatProblem } from "../config/problems.ts";
import { type ErrorCode, WeirError } from "../errors.ts";
import { fileFault } from "../file-fault.ts";

/** Where the configuration is when the command line does not say. */
export const defaultConfigFile = "config/weir.yaml";

const invalid = "WEIR_CONFIG_INVALID" satisfies ErrorCode;

/** The configuration of a file, with everything wrong or odd in it on stderr. Undefined = not valid. */
export async function readConfiguration(file: string): Promise<WeirConfig | undefined> {
  try {
    const loaded = await loadConfigFile(file);
    for (const problem of loaded.warnings) console.error(formatProblem(problem));
    if ("config" in loaded) return loaded.config;
    for (const problem of loaded.errors) console.error(formatProblem(problem));
    const count = loaded.errors.length;
    console.error(`${file}: ${invalid}: ${count} ${count === 1 ? "error" : "errors"}`);
  } catch (error) {
    console.error(`${file}: ${explain(error)}`);
  }
  return undefined;
}

/**
 * One of our own errors in one line: its code, the setting that it is about where it is about one, its text and its
 * cause. Any other is a defect, and is thrown on.
 */
export function explain(error: unknown): string {
  if (!(error instanceof WeirError)) throw error;
  const { setting, reason } = error.detail;
  const parts = [error.code, ...(typeof setting === "string" ? [setting] : []), error.message];
  if (error.cause instanceof Error) {
    parts.push(error.code === "WEIR_CONFIG_UNREADABLE" ? fileFault(error.cause) : error.cause.message);
  } else if (typeof reason === "string") parts.push(reason);
  return parts.join(": ");
}
