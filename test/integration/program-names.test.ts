import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { DnsServer } from "../support/dns-server.ts";
import { eventually } from "../support/eventually.ts";
import { onDrachtio } from "../support/external-engine.ts";
import { Holder } from "../support/held-call.ts";
import { type Endpoint, freePort, Loopback } from "../support/loopback.ts";
import { Trunk } from "../support/trunk.ts";
import { Weir } from "../support/weir.ts";

const network = new Loopback();
const place = async (host: number): Promise<Endpoint> => {
  const address = network.address(host);
  return { address, port: await freePort(address) };
};

const srv = (priority: number, { port }: Endpoint, target: string) =>
  ({ type: "SRV", value: [priority, 10, port, target], ttl: 1 }) as const;
const a = ({ address }: Endpoint) => ({ type: "A", value: address, ttl: 1 }) as const;

describe("agents and next hops known by name", () => {
  let dns: DnsServer;
  let weir: Weir;
  let first: Trunk;
  let second: Trunk;

  beforeAll(async () => {
    dns = await DnsServer.start();
    first = await Trunk.at(await place(11));
    second = await Trunk.at(await place(12));
    offer(first.local, second.local);
    const named = { "ip-address": "", port: 0, "time-to-resume": 3_600 };
    weir = await Weir.start({
      agents: { "trunk.example": named, "late.example": { ...named, "time-to-resume": 1 } },
      routes: { "100": ["trunk.example"], "200": ["late.example"] },
      t1: 100,
      more: {
        dns: { servers: [dns.address], timeout: 1, "max-stale": 3_600 },
        failover: { "first-response-timeout": 1 },
      },
    });
  });
  afterEach(() => weir.idle(20_000));
  afterAll(async () => {
    await weir?.stop();
    for (const each of [first, second, dns]) each?.close();
  });

  /** The trunk's SRV records: these, in this order. */
  function offer(one: Endpoint, two: Endpoint): void {
    dns.zone.set("_sip._udp.trunk.example", [srv(10, one, "one.trunk.example"), srv(20, two, "two.trunk.example")]);
    dns.zone.set("one.trunk.example", [a(one)]);
    dns.zone.set("two.trunk.example", [a(two)]);
  }

  /** The status of a call that hangs up once it is answered, and the seconds until then. */
  async function call(number: string): Promise<{ status: number; seconds: number }> {
    const caller = await Holder.at(weir);
    const began = performance.now();
    const { status } = await caller.call(number);
    const seconds = (performance.now() - began) / 1_000;
    await caller.close();
    return { status, seconds };
  }

  it("send every call to the first SRV target, with the name in its request URI", async () => {
    for (let count = 0; count < 3; count++) expect((await call("100")).status).toBe(200);
    expect([first.count("INVITE"), second.count("INVITE")]).toEqual([3, 0]);
    expect(first.requests[0]?.message.requestUri).toBe("sip:100@trunk.example");
  });

  it("cost the caller first-response-timeout when the first target is dead, and later callers nothing", async ({
    skip,
  }) => {
    skip(onDrachtio, "drachtio-server keeps 100 responses to itself, so silence cannot be told from work");
    first.answers.INVITE = 0;
    const since = performance.now();
    const dead = await call("100");
    expect(dead.status).toBe(200);
    expect(dead.seconds).toBeGreaterThan(0.9);
    expect(dead.seconds).toBeLessThan(3);
    const attempts = first.count("INVITE", since);
    for (let count = 0; count < 3; count++) {
      const next = await call("100");
      expect(next.status).toBe(200);
      expect(next.seconds).toBeLessThan(0.9);
    }
    expect([first.count("INVITE", since), second.count("INVITE", since)]).toEqual([attempts, 4]);
    expect((await weir.view("trunk.example")).state.letter).toBe("I");
    first.answers.INVITE = 200;
  });

  it("follow DNS when it changes, and know their calls by every address", async () => {
    const third = await Trunk.at(await place(13));
    offer(third.local, second.local);
    await eventually("a call at the new address", async () => (await call("100")) && third.count("INVITE") > 0);
    third.ask("OPTIONS", weir.listen);
    await eventually("an answer", () => third.heard("OPTIONS").length > 0);
    third.close();
  });

  it("go on with what was known while DNS is silent", async () => {
    dns.mood = "silent";
    const asked = dns.asked.length;
    await eventually("DNS asked in vain", () => dns.asked.length > asked + 4);
    expect((await call("100")).status).toBe(200);
    dns.mood = "well";
  });

  it("are out of service while their name leads nowhere, and in service once it resolves", async () => {
    const view = await weir.view("late.example");
    expect([view.state.letter, view.reason]).toEqual(["O", "name-failure"]);
    expect((await call("200")).status).toBe(503);
    dns.zone.set("late.example", [a(second.local)]);
    dns.zone.set("_sip._udp.late.example", [srv(1, second.local, "late.example")]);
    await eventually("late.example in service", async () => (await weir.view("late.example")).state.letter === "I", {
      patienceMs: 20_000,
    });
    expect((await call("200")).status).toBe(200);
  });
});

describe("a next hop that is a name and no agent", () => {
  it("is located by SRV like one", async ({ skip }) => {
    skip(onDrachtio, "drachtio-server asks the DNS servers of its own system");
    const dns = await DnsServer.start();
    const trunk = await Trunk.at(await place(21));
    dns.zone.set("direct.example", []);
    dns.zone.set("_sip._udp.direct.example", [srv(1, trunk.local, "host.direct.example")]);
    dns.zone.set("host.direct.example", [a(trunk.local)]);
    const policy = {
      "from-address": ["*"],
      "to-address": ["*"],
      "source-realm": ["*"],
      "policy-attributes": [{ "next-hop": "sip:direct.example" }],
    };
    const weir = await Weir.start({
      agents: {},
      routes: {},
      more: { dns: { servers: [dns.address] }, "local-policies": [policy] },
    });
    try {
      const caller = await Holder.at(weir);
      expect((await caller.call("300")).status).toBe(200);
      await caller.close();
      expect(trunk.requests[0]?.message.requestUri).toBe("sip:300@direct.example");
      await weir.idle();
    } finally {
      await weir.stop();
      trunk.close();
      dns.close();
    }
  });
});
