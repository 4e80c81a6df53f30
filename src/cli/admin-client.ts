import { formatHostPort } from "../config/addresses.ts";
import { loadConfigFile } from "../config/load.ts";
import { defaultConfigFile, explain } from "./configuration.ts";
import { exitCodes } from "./exit-codes.ts";

/** Where the admin API of the running Weir is: said outright, or by the configuration it was started with. */
export interface AdminOptions {
  readonly admin?: string;
  readonly config?: string;
}

/** A failure that is told to the user in one line and ends the program with this status. */
export class CommandFailed extends Error {
  constructor(
    message: string,
    readonly exitCode: number,
  ) {
    super(message);
  }
}

/** How long the running Weir may take to answer. */
const timeoutMs = 10_000;

/** GET on the admin API. `notFound` is what to say when it answers 404. Throws CommandFailed. */
export async function getAdmin(options: AdminOptions, path: string, notFound: string): Promise<unknown> {
  const base = await adminUrl(options);
  let response: Response;
  try {
    response = await fetch(new URL(path, base), { signal: AbortSignal.timeout(timeoutMs) });
  } catch (error) {
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new CommandFailed(`no Weir answers at ${base}: ${reason}`, exitCodes.unavailable);
  }
  if (response.status === 404) throw new CommandFailed(notFound, 1);
  if (response.status === 400) throw new CommandFailed(((await response.json()) as { error: string }).error, 1);
  if (!response.ok) throw new CommandFailed(`${base} answered ${response.status}`, exitCodes.unavailable);
  return response.json();
}

async function adminUrl({ admin, config }: AdminOptions): Promise<string> {
  if (admin !== undefined) {
    const url = /^https?:\/\//.test(admin) ? admin : `http://${admin}`;
    if (URL.canParse(url)) return url;
    throw new CommandFailed(`found "${admin}", expected the address of an admin API such as 127.0.0.1:8080`, 1);
  }
  const file = config ?? defaultConfigFile;
  const loaded = await loadConfigFile(file).catch((error: unknown) => {
    throw new CommandFailed(`${file}: ${explain(error)}`, exitCodes.configuration);
  });
  if (!("config" in loaded)) {
    throw new CommandFailed(`${file}: not valid, see: weir check ${file}`, exitCodes.configuration);
  }
  const { address, port } = loaded.config.admin.listen;
  const wildcards: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };
  return `http://${formatHostPort({ address: wildcards[address] ?? address, port })}`;
}
