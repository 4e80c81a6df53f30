#!/usr/bin/env node
import { Command, InvalidArgumentError } from "commander";
import { version } from "../operations/version.ts";
import type { AdminOptions } from "./admin-client.ts";
import { check } from "./check.ts";
import { defaultConfigFile } from "./configuration.ts";
import { engineCommand } from "./engine.ts";
import type { ExplainOptions } from "./explain.ts";

const program = new Command("weir")
  .description("Load-aware SIP proxy for carrier trunks.")
  .version(version)
  .showHelpAfterError();

function wholeNumber(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Expected a whole number.");
}

const configOption = ["-c, --config <file>", "the configuration", defaultConfigFile] as const;
const adminOption = ["-a, --admin <address:port>", "the admin API, instead of where the configuration says"] as const;

program
  .command("start")
  .description("run Weir until SIGTERM, SIGINT or SIGHUP, and then until the calls that are up have ended")
  .option(...configOption)
  .action(async ({ config }: { config: string }) => {
    const { start } = await import("./start.ts");
    // Whatever is still open must not keep a program that has done its work.
    process.exit(await start(config));
  });

program
  .command("check")
  .description("say what is wrong with a configuration, and start nothing")
  .argument("[file]", "the configuration")
  .option("-c, --config <file>", "the same, as the other commands take it")
  .action(async (file: string | undefined, { config }: { config?: string }) => {
    process.exitCode = await check(file ?? config ?? defaultConfigFile);
  });

program
  .command("agents")
  .description("show the session agents of the running Weir, or one in full")
  .argument("[hostname]", "the session agent")
  .option(...configOption)
  .option(...adminOption)
  .action(async (hostname: string | undefined, options: AdminOptions) => {
    const { agents } = await import("./agents.ts");
    await show(agents(hostname, options));
  });

program
  .command("calls")
  .description("show the calls that are up in the running Weir")
  .option(...configOption)
  .option(...adminOption)
  .action(async (options: AdminOptions) => {
    const { calls } = await import("./calls.ts");
    await show(calls(options, new Date()));
  });

program
  .command("explain")
  .description("say where a call would go in the running Weir, and why, without making it")
  .requiredOption("-t, --to <address>", "the called number or address")
  .option("-f, --from <address>", "the calling number or address")
  .option("-r, --realm <identifier>", "the realm it enters through (default: the first)")
  .option("--at <date>", "when, such as 2026-03-01T08:00 (default: now); agents are taken as they are now")
  .option("-m, --method <method>", "the method (default: INVITE)")
  .option("--agent <hostname>", "the session agent that the call is from")
  .option(...configOption)
  .option(...adminOption)
  .action(async (options: ExplainOptions) => {
    const { explain } = await import("./explain.ts");
    await show(explain(options));
  });

program
  .command("demo")
  .description(
    "run Weir with carriers and callers around it, on free ports of the loopback interface, and show what happens",
  )
  .option("-s, --seconds <number>", "end after so many seconds; 0 = at Ctrl-C", wholeNumber, 0)
  .action(async (options: { seconds: number }) => {
    const { demo } = await import("./demo.ts");
    process.exit(await demo(options));
  });

program.addCommand(engineCommand);

async function show(text: Promise<string>): Promise<void> {
  try {
    console.log(await text);
  } catch (error) {
    const { CommandFailed } = await import("./admin-client.ts");
    if (!(error instanceof CommandFailed)) throw error;
    console.error(error.message);
    process.exitCode = error.exitCode;
  }
}

// `weir calls | head`: a reader that has seen enough is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

await program.parseAsync();
