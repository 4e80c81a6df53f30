import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { parameterTables, withTables } from "../support/parameter-tables.ts";

const file = fileURLToPath(new URL("../../docs/configuration.md", import.meta.url));
const page = readFileSync(file, "utf8");

describe("docs/configuration.md", () => {
  it("shows every parameter as the tables have it (after a change: npx vitest run test/unit/config-docs -u)", async () => {
    await expect(withTables(page)).toMatchFileSnapshot(file);
  });

  it("has a place for every table, and no other", () => {
    const named = [...page.matchAll(/<!-- table: ([\w-]+) -->/g)].map((match) => match[1]);
    expect(named).toEqual(Object.keys(parameterTables));
  });

  it("gives an example that is valid without a warning", () => {
    const example = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
    const loaded = loadConfig(example, "example", { WEIR_SIGNALLING_LISTEN: "udp://0.0.0.0:5060" });
    expect(loaded).toMatchObject({ warnings: [], config: { "session-agents": [{}, {}] } });
  });
});
