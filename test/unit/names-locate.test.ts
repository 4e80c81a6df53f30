import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DnsResolver } from "../../src/names/dns-resolver.ts";
import { type Located, locate, type Question, type Reach } from "../../src/names/locate.ts";
import { DnsServer } from "../support/dns-server.ts";

let dns: DnsServer;

beforeEach(async () => {
  dns = await DnsServer.start();
});

afterEach(() => dns.close());

const everything: Reach = () => true;
const ipv4: Reach = (_, family) => family === 4;

function find(question: Partial<Question>, reach: Reach = ipv4, before?: Parameters<typeof locate>[3]) {
  const resolver = new DnsResolver({ servers: [dns.address], timeout: 0.3 });
  return locate({ host: "trunk.example", port: 0, protocol: "udp", ...question }, resolver, reach, before);
}

/** `udp 192.0.2.1 5060` for each endpoint. */
const endpoints = (located: Located): string[] =>
  located.kind === "located"
    ? located.location.flatMap((site) => site.endpoints.map((to) => `${to.protocol} ${to.address} ${to.port}`))
    : [located.kind];

const a = (value: string, ttl = 60) => ({ type: "A", value, ttl }) as const;
const srv = (priority: number, weight: number, port: number, target: string) =>
  ({ type: "SRV", value: [priority, weight, port, target] }) as const;
const naptr = (order: number, service: string, replacement: string) =>
  ({ type: "NAPTR", value: [order, 10, "S", service, replacement] }) as const;

describe("a name without a port", () => {
  it("is located by SRV: port, priority and weight are its", async () => {
    dns.zone.set("_sip._udp.trunk.example", [srv(20, 5, 5071, "two.example"), srv(10, 7, 5070, "one.example")]);
    dns.zone.set("one.example", [a("192.0.2.1"), a("192.0.2.2")]);
    dns.zone.set("two.example", [a("192.0.2.3")]);
    const located = await find({});
    expect(endpoints(located)).toEqual(["udp 192.0.2.1 5070", "udp 192.0.2.2 5070", "udp 192.0.2.3 5071"]);
    expect(located).toMatchObject({
      location: [
        { priority: 10, weight: 7 },
        { priority: 20, weight: 5 },
      ],
    });
  });

  it.each([
    ["udp", "_sip._udp", 5060],
    ["tcp", "_sip._tcp", 5060],
    ["tls", "_sips._tcp", 5061],
  ] as const)(
    "is asked for %s as %s, and has the default port where there is no SRV",
    async (protocol, service, port) => {
      dns.zone.set("trunk.example", [a("192.0.2.9")]);
      expect(endpoints(await find({ protocol }))).toEqual([`${protocol} 192.0.2.9 ${port}`]);
      expect(dns.asked[0]).toBe(`SRV ${service}.trunk.example`);
    },
  );

  it("has its transport from NAPTR where nothing else tells it, as far as there is a listener for it", async () => {
    dns.zone.set("trunk.example", [
      naptr(10, "SIPS+D2T", "_sips._tcp.trunk.example"),
      naptr(20, "SIP+D2T", "_sip._tcp.trunk.example"),
      naptr(5, "E2U+sip", "_sip._udp.trunk.example"),
    ]);
    dns.zone.set("_sips._tcp.trunk.example", [srv(1, 1, 5061, "one.example")]);
    dns.zone.set("_sip._tcp.trunk.example", [srv(1, 1, 5070, "one.example")]);
    dns.zone.set("one.example", [a("192.0.2.1")]);
    const anyTransport = { host: "trunk.example", port: 0 };
    const resolver = new DnsResolver({ servers: [dns.address], timeout: 1 });
    expect(endpoints(await locate(anyTransport, resolver, everything))).toEqual(["tls 192.0.2.1 5061"]);
    const withoutTls: Reach = (protocol, family) => protocol !== "tls" && family === 4;
    expect(endpoints(await locate(anyTransport, resolver, withoutTls))).toEqual(["tcp 192.0.2.1 5070"]);
    expect(endpoints(await locate({ ...anyTransport, secure: true }, resolver, everything))).toEqual([
      "tls 192.0.2.1 5061",
    ]);
  });

  it("has its transport from the SRV records that there are, where it has no NAPTR", async () => {
    dns.zone.set("_sip._tcp.trunk.example", [srv(1, 1, 5070, "one.example")]);
    dns.zone.set("one.example", [a("192.0.2.1")]);
    const resolver = new DnsResolver({ servers: [dns.address], timeout: 1 });
    const located = await locate({ host: "trunk.example", port: 0 }, resolver, ipv4);
    expect(endpoints(located)).toEqual(["tcp 192.0.2.1 5070"]);
  });
});

describe("a name with a port", () => {
  it("is located by A and AAAA alone, A first", async () => {
    dns.zone.set("trunk.example", [a("192.0.2.1"), { type: "AAAA", value: "2001:db8:0:0:0:0:0:1" }]);
    expect(endpoints(await find({ port: 5099 }, everything))).toEqual(["udp 192.0.2.1 5099", "udp 2001:db8::1 5099"]);
    expect([...dns.asked].sort()).toEqual(["A trunk.example", "AAAA trunk.example"]);
  });

  it("is asked for no address of a family that cannot be sent from", async () => {
    dns.zone.set("trunk.example", [a("192.0.2.1")]);
    await find({ port: 5099 });
    expect(dns.asked).toEqual(["A trunk.example"]);
  });

  it("holds as long as the shortest TTL, of CNAMEs too", async () => {
    dns.zone.set("trunk.example", [{ type: "CNAME", value: "host.example", ttl: 20 }]);
    dns.zone.set("host.example", [a("192.0.2.1", 40), a("192.0.2.2", 30)]);
    expect(await find({ port: 5099 })).toMatchObject({ kind: "located", ttl: 20 });
  });
});

describe("a numeric host", () => {
  it("is no name", async () => {
    expect(endpoints(await find({ host: "192.0.2.4" }))).toEqual(["udp 192.0.2.4 5060"]);
    expect(dns.asked).toEqual([]);
  });
});

describe("DNS that lies, loops, or says too much", () => {
  it("leads nowhere where the only SRV target is the root: there is no such service", async () => {
    dns.zone.set("_sip._udp.trunk.example", [srv(0, 0, 0, ".")]);
    dns.zone.set("trunk.example", [a("192.0.2.1")]);
    expect(await find({})).toEqual({ kind: "nowhere", detail: "_sip._udp.trunk.example offers no service" });
  });

  it("is not believed about port 0, nor about addresses of nobody and everybody", async () => {
    dns.zone.set("_sip._udp.trunk.example", [srv(1, 1, 0, "one.example"), srv(2, 1, 5070, "two.example")]);
    dns.zone.set("one.example", [a("192.0.2.1")]);
    dns.zone.set("two.example", [a("0.0.0.0"), a("224.0.0.1"), a("255.255.255.255"), a("192.0.2.2"), a("192.0.2.2")]);
    expect(endpoints(await find({}))).toEqual(["udp 192.0.2.2 5070"]);
  });

  it("has no hold on the search: SRV is not asked for SRV targets, and a loop of CNAMEs leads nowhere", async () => {
    dns.zone.set("_sip._udp.trunk.example", [srv(1, 1, 5070, "_sip._udp.trunk.example"), srv(2, 1, 5070, "x.example")]);
    dns.zone.set("x.example", [{ type: "CNAME", value: "y.example" }]);
    dns.zone.set("y.example", [{ type: "CNAME", value: "x.example" }]);
    expect((await find({})).kind).toBe("nowhere");
    expect(dns.asked.filter((question) => question.startsWith("SRV"))).toHaveLength(1);
  });

  it("is taken at its word for 32 SRV records and 16 addresses of a host, no more", async () => {
    const targets = Array.from({ length: 40 }, (_, index) => srv(index, 1, 5060, `h${index}.example`));
    dns.zone.set("_sip._udp.trunk.example", targets);
    for (let index = 0; index < 40; index++) dns.zone.set(`h${index}.example`, [a(`192.0.2.${index + 1}`)]);
    dns.zone.set(
      "h0.example",
      Array.from({ length: 20 }, (_, index) => a(`198.51.100.${index + 1}`)),
    );
    const found = endpoints(await find({}));
    expect(found).toHaveLength(16 + 31);
    expect(found.at(-1)).toBe("udp 192.0.2.32 5060");
  });

  it("is in trouble when it is silent or fails, which says nothing of the name", async () => {
    dns.mood = "silent";
    const began = performance.now();
    expect((await find({})).kind).toBe("trouble");
    expect(performance.now() - began).toBeLessThan(2_000);
    dns.mood = "broken";
    expect((await find({ port: 5070 })).kind).toBe("trouble");
  });

  it("leads nowhere when there is no such name", async () => {
    expect(await find({ host: "nobody.example" })).toMatchObject({ kind: "nowhere" });
  });

  it("may forget an SRV target's address for a moment: what it was before serves", async () => {
    const resolver = {
      srv: async () =>
        ({ kind: "records", records: [{ name: "one.example", port: 5070, priority: 1, weight: 1 }] }) as const,
      naptr: async () => ({ kind: "none" }) as const,
      addresses: async () => ({ kind: "trouble", detail: "no answer" }) as const,
    };
    const question = { host: "trunk.example", port: 0, protocol: "udp" } as const;
    const endpoint = { protocol: "udp", address: "192.0.2.1", port: 5070 } as const;
    const before = [{ host: "one.example", priority: 9, weight: 9, endpoints: [endpoint] }];
    expect(await locate(question, resolver, ipv4, before)).toEqual({
      kind: "located",
      location: [{ host: "one.example", priority: 1, weight: 1, endpoints: [endpoint] }],
      ttl: 0,
      stale: true,
    });
  });
});
