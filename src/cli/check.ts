import { readConfiguration } from "./configuration.ts";
import { exitCodes } from "./exit-codes.ts";

/** `weir check`: says what is wrong with a configuration, and starts nothing. The exit status. */
export async function check(file: string): Promise<number> {
  const config = await readConfiguration(file);
  if (!config) return exitCodes.configuration;
  const agents = counted(config["session-agents"].length, "session agent");
  const groups = counted(config["session-agent-groups"].length, "group");
  const policies = counted(config["local-policies"].length, "local policy", "local policies");
  console.log(`${file}: valid: ${agents}, ${groups}, ${policies}`);
  return 0;
}

const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;
