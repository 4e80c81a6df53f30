import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { CallCounters } from "../../src/calls/counters.ts";
import { exitCodes } from "../../src/cli/exit-codes.ts";
import { loadConfig } from "../../src/config/load.ts";
import { startWeir } from "../../src/main.ts";

const file = fileURLToPath(new URL("../../docs/operations.md", import.meta.url));
const page = readFileSync(file, "utf8");

const yaml = `
signalling: { listen: "udp://127.0.0.1:0" }
session-agents: [{ hostname: a, ip-address: 127.0.0.1 }]
local-policies: [{ policy-attributes: [{ next-hop: a }] }]
admin: { listen: "127.0.0.1:0" }
`;

/** The table of every metric of a running Weir. */
async function metricsTable(): Promise<string> {
  const loaded = loadConfig(yaml, "weir.yaml", {});
  if (!("config" in loaded)) throw new Error("the test's configuration is not valid");
  const weir = await startWeir(loaded.config, { log: pino({ level: "silent" }) });
  try {
    await weir.metrics.text();
    const rows = weir.metrics.sources.map(({ name, kind, labels = [], help }) => {
      const named = labels.map((label) => `\`${label}\``).join(", ");
      return `| \`${name}\` | ${kind} | ${named} | ${help} |`;
    });
    return ["| metric | kind | labels | meaning |", "| --- | --- | --- | --- |", ...rows].join("\n");
  } finally {
    await weir.stop();
  }
}

/** What stands in the first column of the tables, in code or plain. */
const firstColumn = new Set([...page.matchAll(/^\| `?([\w-]+)`? \|/gm)].map((match) => match[1]));

describe("docs/operations.md", () => {
  it("shows every metric (after a change: npx vitest run test/unit/operations-docs -u)", async () => {
    const table = await metricsTable();
    const made = page.replace(/(<!-- table: metrics -->\n)[\s\S]*?(<!-- end -->)/, (_, head, end) => {
      return `${head}\n${table}\n\n${end}`;
    });
    await expect(made).toMatchFileSnapshot(file);
  });

  it("tells every way a call ends and every exit status", () => {
    for (const end of Object.keys(new CallCounters().ended)) expect(firstColumn).toContain(end);
    for (const status of Object.values(exitCodes)) expect(firstColumn).toContain(String(status));
  });
});
