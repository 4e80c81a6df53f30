import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { loadConfig } from "../../src/config/load.ts";
import { Engine } from "../../src/engine/engine.ts";
import { eventually } from "../support/eventually.ts";
import { freePort, Loopback } from "../support/loopback.ts";
import { RawUa } from "../support/raw-ua.ts";
import { RawCall } from "../support/sip-text.ts";

const network = new Loopback();
const [home, agent, stranger] = [network.address(1), network.address(2), network.address(3)];

/** The listeners that the engine is told to close, as a configuration has it. */
function closedBy(port: number, unknownSource: string) {
  const loaded = loadConfig(
    `realms: [{ identifier: core, listen: ["udp://${home}:${port}"], allow: agents }]
session-agents: [{ hostname: a, ip-address: ${agent}, realm-id: core }]
local-policies: [{ policy-attributes: [{ next-hop: a }] }]
${unknownSource}`,
    "weir.yaml",
    {},
  );
  if (!("config" in loaded)) throw new Error(JSON.stringify(loaded.errors));
  return loaded.config.signalling;
}

describe("a listener of a realm that takes agents alone, with unknown-source mapped to silence", () => {
  const closers: (() => unknown)[] = [];
  let port: number;

  beforeEach(async () => {
    port = await freePort(home);
  });
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });

  async function engineWith(unknownSource: string): Promise<Engine> {
    const { listen, sources = [], timers } = closedBy(port, unknownSource);
    const engine = new Engine({ listen, sources, timers, clock: systemClock, log: { warn() {}, debug() {} } });
    await engine.start();
    closers.push(() => engine.stop());
    return engine;
  }

  async function callFrom(address: string): Promise<RawUa> {
    const ua = await RawUa.open({ address, port: await freePort(address) });
    closers.push(() => ua.close());
    const to = { address: home, port };
    ua.send(new RawCall(ua.local, to, "100").invite(), to);
    return ua;
  }

  it("says nothing to strangers, not even 100, and serves the agent", async () => {
    const engine = await engineWith("local-response-map: { unknown-source: { status: 0 } }");
    const outsider = await callFrom(stranger);
    await eventually("the stranger's request counted", () => engine.counters.sources.strangers === 1);
    const known = await callFrom(agent);
    // There is no application here, which is what the agent is told.
    await known.receive("an answer", ({ status }) => status === 503);
    expect(outsider.received).toEqual([]);
    expect(engine.counters.alive.servers).toBe(1);
  });

  it("answers everybody without that map", async () => {
    await engineWith("");
    const outsider = await callFrom(stranger);
    await outsider.receive("an answer", ({ status }) => status === 503);
  });
});
