import { describe, expect, it } from "vitest";
import { AgentEvents } from "../../src/agents/agent-events.ts";
import { AgentManager } from "../../src/agents/agent-manager.ts";
import type { AgentParams } from "../../src/agents/params.ts";
import { SessionCounts } from "../../src/agents/session-counts.ts";
import { agentWith } from "../support/agents.ts";
import { FakePinger } from "../support/fake-pinger.ts";
import { ManualClock } from "../support/manual-clock.ts";

const managerOf = (...agents: Partial<AgentParams>[]) => {
  const clock = new ManualClock();
  const params = agents.map((each) => agentWith(each));
  return { clock, manager: new AgentManager(params, { clock, random: () => 0.5, events: new AgentEvents() }) };
};

describe("the agent a request is from", () => {
  const { manager } = managerOf(
    { hostname: "alone", "ip-address": "192.0.2.1", port: 5060 },
    { hostname: "first", "ip-address": "192.0.2.2", port: 5060 },
    { hostname: "second", "ip-address": "192.0.2.2", port: 5070 },
    { hostname: "core", "ip-address": "192.0.2.1", port: 5060, "realm-id": "core" },
    { hostname: "named.example.net", "ip-address": "" },
    { hostname: "six", "ip-address": "2001:db8::1", port: 5060 },
  );
  it.each([
    ["at its address and port", "192.0.2.1", 5060, "default", "alone"],
    ["at its address, from another port, as over TCP", "192.0.2.1", 49_152, "default", "alone"],
    ["told apart by port where several share an address", "192.0.2.2", 5070, "default", "second"],
    ["unknown where several share the address and none the port", "192.0.2.2", 49_152, "default", undefined],
    ["of the realm it came through", "192.0.2.1", 5060, "core", "core"],
    ["unknown in a realm without it", "192.0.2.2", 5060, "core", undefined],
    ["unknown at another address", "192.0.2.9", 5060, "default", undefined],
    ["found by IPv6 address", "2001:db8::1", 5060, "default", "six"],
    ["not found by an empty address", "", 5060, "default", undefined],
  ])("is %s", (_, address, port, realm, expected) => {
    expect(manager.bySource(address, port, realm)?.hostname).toBe(expected);
  });
});

describe("the agents", () => {
  it("are found by name and listed in order of configuration", () => {
    const { manager } = managerOf({ hostname: "b" }, { hostname: "a" });
    expect([manager.size, [...manager].map(({ hostname }) => hostname)]).toEqual([2, ["b", "a"]]);
    expect([manager.get("a")?.hostname, manager.get("c")]).toEqual(["a", undefined]);
  });

  it("change with the configuration: known ones keep counts and health, others come and go", () => {
    const { manager, clock } = managerOf({ hostname: "stays" }, { hostname: "goes", "ip-address": "192.0.2.3" });
    const [stays, goes] = manager;
    const leases = [stays, goes].map((agent) => agent?.admit({ direction: "outbound", method: "INVITE" }));
    goes?.observe({ kind: "timeout", purpose: "traffic" });
    manager.configure([
      agentWith({ hostname: "stays", "max-sessions": 1 }),
      agentWith({ hostname: "comes", "ip-address": "192.0.2.4" }),
    ]);
    expect([...manager].map(({ hostname, letter }) => hostname + letter)).toEqual(["staysC", "comesI"]);
    expect(manager.bySource("192.0.2.3", 5060, "default")).toBeUndefined();
    expect(manager.bySource("192.0.2.4", 5060, "default")?.hostname).toBe("comes");
    expect(clock.pending).toBe(0);
    for (const lease of leases) if (lease?.admitted) lease.lease.release("bye");
    expect([stays?.outboundActive, goes?.outboundActive]).toEqual([0, 0]);
  });

  it("are all pinged once pings start, those that come later included, and none once stopped", () => {
    const ping = { "ping-method": "OPTIONS", "ping-interval": 10 };
    const { manager, clock } = managerOf({ hostname: "a", ...ping });
    const pinger = new FakePinger(clock);
    manager.startPings(pinger);
    manager.configure([agentWith({ hostname: "a", ...ping }), agentWith({ hostname: "b", ...ping })]);
    clock.advance(9_000);
    expect(pinger.sent.map(({ request }) => request.params.hostname)).toEqual(["a", "b"]);
    manager.stop();
    expect(clock.pending).toBe(0);
  });
});

describe("a count of sessions", () => {
  it("never goes below zero, and says so", () => {
    const counts = new SessionCounts();
    counts.enter("inbound");
    expect([counts.leave("outbound"), counts.leave("inbound"), counts.leave("inbound")]).toEqual([false, true, false]);
    expect(counts.active("total")).toBe(0);
  });
});
