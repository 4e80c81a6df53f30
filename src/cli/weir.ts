#!/usr/bin/env node
import { Command } from "commander";
import { check } from "./check.ts";
import { defaultConfigFile } from "./configuration.ts";

const program = new Command("weir").description("Load-aware SIP proxy for carrier trunks.").showHelpAfterError();

program
  .command("check")
  .description("say what is wrong with a configuration, and start nothing")
  .argument("[file]", "the configuration")
  .option("-c, --config <file>", "the same, as the other commands take it")
  .action(async (file: string | undefined, options: { config?: string }) => {
    process.exitCode = await check(file ?? options.config ?? defaultConfigFile);
  });

await program.parseAsync();
