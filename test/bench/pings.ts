/**
 * What it costs to ping many agents: CPU of the running program, with nothing else to do.
 *
 *     npm run bench:pings -- [agents] [interval in s] [measured s]
 */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../support/loopback.ts";
import { responseTo, SipText } from "../support/sip-text.ts";
import { launchWeir, loopback } from "./systems.ts";

const [agents = 10_000, intervalS = 30, seconds = 60] = process.argv.slice(2).map(Number);

/** Every agent has an address of its own; one socket answers for all of them. */
const addressOf = (agent: number): string => `127.1.${agent >> 8}.${agent & 255}`;

const port = await freePort(loopback);
const answering = createSocket("udp4");
let answered = 0;
answering.on("message", (bytes, from) => {
  answered++;
  const local = { address: loopback, port };
  answering.send(responseTo(new SipText(bytes.toString("latin1")), 200, "OK", local), from.port, from.address);
});
answering.bind(port, "0.0.0.0");
await once(answering, "listening");

const folder = mkdtempSync(join(tmpdir(), "weir-pings-"));
const pause = (s: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, s * 1_000));
try {
  const weir = await launchWeir("weir", configuration, folder);
  await pause(intervalS);
  const cpuBefore = weir.cpuMs();
  const before = answered;
  await pause(seconds);
  const cpu = (weir.cpuMs() - cpuBefore) / seconds;
  const perSecond = (answered - before) / seconds;
  const memory = weir.residentMb();
  const metrics = await (await fetch(`${weir.admin}/metrics`)).text();
  const inService = [...metrics.matchAll(/^weir_agent_state\{agent="[^"]*",state="I"\} 1$/gm)].length;
  const afterScrape = weir.residentMb();
  await weir.stop();
  console.log(`${cpus()[0]?.model ?? "unknown processor"}, ${cpus().length} cores, Node ${process.version}`);
  console.log(`${agents} agents pinged every ${intervalS} s: ${perSecond.toFixed(0)} pings/s, all answered`);
  console.log(`${(cpu / 10).toFixed(2)} % of a core, ${((cpu * 1_000) / perSecond).toFixed(0)} µs of CPU per ping`);
  console.log(
    `${inService} agents in service, ${memory.toFixed(0)} MB resident, ${afterScrape.toFixed(0)} after a scrape`,
  );
  if (inService !== agents) process.exitCode = 1;
} finally {
  answering.close();
  rmSync(folder, { recursive: true });
}

function configuration(listen: string, admin: string): string {
  const ping = `ping-method: OPTIONS, ping-interval: ${intervalS}, ping-send-mode: continuous`;
  const list = Array.from(
    { length: agents },
    (_, at) => `  - { hostname: agent-${at}, ip-address: ${addressOf(at)}, port: ${port}, ${ping} }`,
  );
  return `signalling: { listen: ["${listen}"] }
admin: { listen: "${admin}" }
logging: { level: error }
session-agents:
${list.join("\n")}
local-policies:
  - { policy-attributes: [{ next-hop: agent-0 }] }
`;
}
