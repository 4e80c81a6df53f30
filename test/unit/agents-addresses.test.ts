import { describe, expect, it } from "vitest";
import type { AgentParams } from "../../src/agents/params.ts";
import type { Endpoint, Location } from "../../src/location.ts";
import { AgentBench, agentWith } from "../support/agents.ts";
import { FakePinger } from "../support/fake-pinger.ts";

const one: Endpoint = { protocol: "udp", address: "192.0.2.1", port: 5070 };
const two: Endpoint = { protocol: "udp", address: "192.0.2.2", port: 5071 };

/** One endpoint a priority, in order. */
const located = (...endpoints: Endpoint[]): Location =>
  endpoints.map((endpoint, priority) => ({ host: endpoint.address, priority, weight: 0, endpoints: [endpoint] }));

function bench(params: Partial<AgentParams> = {}, location: Location = located(one, two)): AgentBench {
  const made = new AgentBench({ hostname: "trunk.example", "ip-address": "", port: 0, ...params });
  if (location.length > 0) made.manager.locate("trunk.example", location);
  return made;
}

const refused = (endpoint: Endpoint) =>
  ({ kind: "transport-failure", purpose: "traffic", detail: "ECONNREFUSED", endpoint }) as const;
const addresses = ({ agent }: AgentBench): string[] => agent.route(() => 0).map(({ address }) => address);

describe("an agent known by name", () => {
  it("is in service while any of its addresses is, and each has its own health", () => {
    const scene = bench();
    scene.agent.observe(refused(one));
    expect([scene.agent.letter, addresses(scene)]).toEqual(["I", ["192.0.2.2"]]);
    scene.agent.observe(refused(two));
    expect([scene.agent.letter, scene.agent.reason]).toEqual(["O", "transport-failure"]);
    expect(scene.story).toEqual(["I>O transport-failure"]);
    scene.clock.advance(30_000);
    expect([scene.agent.letter, addresses(scene)]).toEqual(["I", ["192.0.2.1", "192.0.2.2"]]);
  });

  it("is tried last at an address that was silent, until that answers or its time to resume has passed", () => {
    const scene = bench();
    scene.agent.silent(one);
    expect([scene.agent.letter, addresses(scene)]).toEqual(["I", ["192.0.2.2", "192.0.2.1"]]);
    scene.clock.advance(29_999);
    expect(addresses(scene)).toEqual(["192.0.2.2", "192.0.2.1"]);
    scene.clock.advance(1);
    expect(addresses(scene)).toEqual(["192.0.2.1", "192.0.2.2"]);
    scene.agent.silent(one);
    scene.agent.observe({ kind: "response", purpose: "traffic", status: 100, endpoint: one });
    expect(addresses(scene)).toEqual(["192.0.2.1", "192.0.2.2"]);
  });

  it.each([
    ["ttr-no-response where there is one", { "ttr-no-response": 5 }, 5],
    ["30 s where only pings bring it back", { "time-to-resume": 0, "ping-method": "OPTIONS", "ping-interval": 10 }, 30],
  ])("is tried last at an address that was silent for %s", (_, params, seconds) => {
    const scene = bench(params);
    scene.agent.silent(one);
    scene.clock.advance(seconds * 1_000 - 1);
    expect(addresses(scene)).toEqual(["192.0.2.2", "192.0.2.1"]);
    scene.clock.advance(1);
    expect(addresses(scene)).toEqual(["192.0.2.1", "192.0.2.2"]);
  });

  it("is tried last at an address that a transaction timed out at, too few times to be out", () => {
    const scene = bench({ "trans-timeouts": 2 });
    scene.agent.observe({ kind: "timeout", purpose: "traffic", endpoint: one });
    expect(addresses(scene)).toEqual(["192.0.2.2", "192.0.2.1"]);
  });

  it("is in standby as soon as one of its addresses is, the others still out", () => {
    const scene = bench({ "in-service-period": 5 });
    scene.agent.observe(refused(one));
    scene.agent.observe(refused(two));
    scene.agent.observe({ kind: "response", purpose: "ping", status: 200, endpoint: two });
    expect([scene.agent.letter, addresses(scene)]).toEqual(["S", []]);
    scene.clock.advance(5_000);
    expect([scene.agent.letter, addresses(scene)]).toEqual(["I", ["192.0.2.2"]]);
  });

  it("takes new times for each of its addresses", () => {
    const scene = bench();
    scene.agent.observe(refused(one));
    scene.agent.configure(agentWith({ ...scene.agent.params, "time-to-resume": 6 }));
    scene.clock.advance(5_999);
    expect(addresses(scene)).toEqual(["192.0.2.2"]);
    scene.clock.advance(1);
    expect(addresses(scene)).toContain("192.0.2.1");
  });

  it("keeps no timer of an address that its name leads to no longer", () => {
    const scene = bench();
    scene.agent.observe(refused(one));
    scene.manager.locate("trunk.example", located(two));
    expect(scene.clock.pending).toBe(0);
    scene.agent.observe(refused(two));
    scene.manager.locate("trunk.example", { failure: "no address" });
    expect(scene.clock.pending).toBe(0);
  });

  it("is out of service while its name leads nowhere, with that reason, and sets no timer to come back by", () => {
    const scene = bench();
    scene.manager.locate("trunk.example", { failure: "no address" });
    expect([scene.agent.letter, scene.agent.reason, scene.agent.resumeAt]).toEqual(["O", "name-failure", undefined]);
    scene.clock.advance(3_600_000);
    expect(scene.agent.letter).toBe("O");
    scene.manager.locate("trunk.example", located(two));
    expect([scene.agent.letter, scene.agent.reason, addresses(scene)]).toEqual(["I", "resolved", ["192.0.2.2"]]);
  });

  it("is back only when an address of it answers, where it is pinged (SEMANTICS section 4.1)", () => {
    const scene = bench({ "ping-method": "OPTIONS", "ping-interval": 10 });
    const pinger = new FakePinger(scene.clock);
    scene.manager.startPings(pinger);
    scene.manager.locate("trunk.example", { failure: "no address" });
    scene.clock.advance(60_000);
    const before = pinger.sent.length;
    scene.manager.locate("trunk.example", located(one));
    expect([scene.agent.letter, scene.agent.reason]).toEqual(["O", "name-failure"]);
    scene.clock.advance(11_000);
    expect(pinger.sent[before]?.request.endpoint).toEqual(one);
    expect([scene.agent.letter, scene.agent.reason]).toEqual(["I", "ping-answered"]);
    // An address that is found once the name leads somewhere is as good as any that is new.
    scene.manager.locate("trunk.example", located(one, two));
    expect(addresses(scene)).toEqual(["192.0.2.1", "192.0.2.2"]);
  });

  it("keeps the health of addresses that stay, and starts new ones in service", () => {
    const scene = bench();
    scene.agent.observe(refused(one));
    const three = { ...one, address: "192.0.2.3" };
    scene.manager.locate("trunk.example", located(one, three));
    expect(addresses(scene)).toEqual(["192.0.2.3"]);
  });

  it("shows every address with its health", () => {
    const scene = bench();
    scene.agent.observe(refused(one));
    scene.agent.silent(two);
    expect(scene.agent.snapshot()).toMatchObject({
      address: "trunk.example",
      addresses: [
        { address: "192.0.2.1:5070", transport: "UDP", health: "out-of-service", reason: "transport-failure" },
        { address: "192.0.2.2:5071", transport: "UDP", health: "in-service", reason: "start", silent: true },
      ],
    });
  });

  it("behaves as one with an address as long as it was not located", () => {
    const scene = bench({}, []);
    expect([scene.agent.letter, addresses(scene)]).toEqual(["I", []]);
    scene.agent.observe({ kind: "name-failure", purpose: "traffic", detail: "DNS Error" });
    expect(scene.agent.letter).toBe("O");
    scene.clock.advance(30_000);
    expect(scene.agent.letter).toBe("I");
  });

  it("has not moved when DNS merely gives its addresses in another order, which is the one that calls try", () => {
    const scene = bench();
    const swapped = [{ host: "h", priority: 1, weight: 1, endpoints: [two, one] }];
    expect(scene.manager.locate("trunk.example", swapped)).toBe(false);
    expect(addresses(scene)).toEqual(["192.0.2.2", "192.0.2.1"]);
    expect(scene.manager.locate("trunk.example", located(one))).toBe(true);
    expect(scene.manager.locate("nobody.example", located(one))).toBe(false);
  });

  it("leaves no timer behind when it is stopped", () => {
    const scene = bench({ "ping-method": "OPTIONS", "ping-interval": 10 });
    scene.manager.startPings(new FakePinger(scene.clock));
    scene.agent.observe(refused(one));
    scene.manager.locate("trunk.example", located(two));
    scene.agent.observe(refused(two));
    scene.manager.stop();
    expect(scene.clock.pending).toBe(0);
  });
});

describe("the pings of an agent known by name", () => {
  const pinged = { "ping-method": "OPTIONS", "ping-interval": 10, "ping-send-mode": "continuous" } as const;

  it("go to every address, each by its own schedule", () => {
    const scene = bench(pinged);
    const pinger = new FakePinger(scene.clock);
    scene.manager.startPings(pinger);
    scene.clock.advance(60_000);
    const to = (endpoint: Endpoint) => pinger.sent.filter(({ request }) => request.endpoint === endpoint).length;
    expect([to(one), to(two)].every((count) => count >= 5 && count <= 7)).toBe(true);
  });

  it("find the address that is dead while the others serve, and find it again", () => {
    const scene = bench(pinged);
    const pinger = new FakePinger(scene.clock);
    const dead = new Set<Endpoint | undefined>([one]);
    scene.manager.startPings({
      ping: (request, done) => {
        pinger.answer = dead.has(request.endpoint) ? { kind: "timeout" } : { kind: "response", status: 200 };
        pinger.ping(request, done);
      },
    });
    scene.clock.advance(15_000);
    expect([scene.agent.letter, addresses(scene)]).toEqual(["I", ["192.0.2.2"]]);
    dead.clear();
    scene.clock.advance(15_000);
    expect(addresses(scene)).toEqual(["192.0.2.1", "192.0.2.2"]);
  });

  it("are spared to the address that answers calls, not to the others, in keep-alive mode", () => {
    const scene = bench({ ...pinged, "ping-send-mode": "keep-alive" });
    const pinger = new FakePinger(scene.clock);
    scene.manager.startPings(pinger);
    for (let second = 0; second < 60; second++) {
      scene.agent.observe({ kind: "response", purpose: "traffic", status: 200, endpoint: one });
      scene.clock.advance(1_000);
    }
    expect(new Set(pinger.sent.map(({ request }) => request.endpoint))).toEqual(new Set([two]));
  });

  it("go to the first address where ping-all-addresses is disabled and none is in service", () => {
    const scene = bench({ ...pinged, "ping-all-addresses": "disabled", "time-to-resume": 0 });
    const pinger = new FakePinger(scene.clock);
    pinger.answer = { kind: "timeout" };
    scene.manager.startPings(pinger);
    scene.agent.observe(refused(one));
    scene.agent.observe(refused(two));
    scene.clock.advance(60_000);
    expect(new Set(pinger.sent.map(({ request }) => request.endpoint))).toEqual(new Set([one]));
  });

  it("go to the foremost address alone where ping-all-addresses is disabled", () => {
    const scene = bench({ ...pinged, "ping-all-addresses": "disabled" });
    const pinger = new FakePinger(scene.clock);
    scene.manager.startPings(pinger);
    scene.clock.advance(60_000);
    expect(new Set(pinger.sent.map(({ request }) => request.endpoint))).toEqual(new Set([one]));
  });
});

describe("a source", () => {
  it("is recognised by every address that the agent's name leads to, and by the port where several share one", () => {
    const scene = bench();
    const source = (address: string, port: number) => scene.manager.bySource(address, port, "default")?.hostname;
    expect([source("192.0.2.1", 5070), source("192.0.2.2", 9), source("192.0.2.3", 5070)]).toEqual([
      "trunk.example",
      "trunk.example",
      undefined,
    ]);
    scene.manager.locate("trunk.example", { failure: "gone" });
    expect(source("192.0.2.1", 5070)).toBeUndefined();
  });

  it("is the agent that a Contact of a redirection names, by name or by address", () => {
    const { manager } = bench();
    const target = (host: string, port: number) => manager.byTarget(host, port)?.hostname;
    expect([target("Trunk.Example", 0), target("192.0.2.2", 5071), target("192.0.2.2", 5060)]).toEqual([
      "trunk.example",
      "trunk.example",
      undefined,
    ]);
  });
});
