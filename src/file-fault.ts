import { getSystemErrorMap } from "node:util";

/** What the system says of a file that cannot be read, in words. */
const faults: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a directory",
  EACCES: "it may not be read",
};

/** Why a file cannot be read, without its name, which whoever tells of it has said. The system's own words where we have none. */
export function fileFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, errno, message } = error as NodeJS.ErrnoException;
  const [, words] = getSystemErrorMap().get(errno ?? 0) ?? [];
  return faults[code ?? ""] ?? words ?? code ?? message;
}
