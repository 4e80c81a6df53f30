import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/** Ends a child with SIGTERM, with SIGKILL after ten seconds, and gives its exit status (null when a signal killed it). */
export async function endChild(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  const force = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await exit;
  clearTimeout(force);
  return child.exitCode;
}
