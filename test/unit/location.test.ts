import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { inOrder, type Site } from "../../src/location.ts";

const site = (host: string, priority: number, weight: number): Site => ({
  host,
  priority,
  weight,
  endpoints: [{ protocol: "udp", address: host, port: 5060 }],
});

const hosts = (sites: readonly Site[], random: () => number) => inOrder(sites, random).map(({ address }) => address);

describe("the order of a name's endpoints", () => {
  it("goes by priority, whatever the weights", () => {
    const sites = [site("c", 30, 0), site("a", 10, 0), site("b", 20, 60_000)];
    for (const chance of [0, 0.5, 0.999]) expect(hosts(sites, () => chance)).toEqual(["a", "b", "c"]);
  });

  it("gives each site of one priority its share by weight (RFC 2782)", () => {
    const sites = [site("heavy", 10, 75), site("light", 10, 25)];
    let draws = 0;
    const random = () => (draws++ % 1_000) / 1_000;
    const firsts = Array.from({ length: 1_000 }, () => {
      const first = hosts(sites, random)[0];
      draws++;
      return first;
    });
    const heavy = firsts.filter((host) => host === "heavy").length;
    expect(heavy).toBeGreaterThan(700);
    expect(heavy).toBeLessThan(800);
  });

  it("holds every endpoint once", () => {
    const any = fc.record({ priority: fc.nat(3), weight: fc.nat(65_535) });
    fc.assert(
      fc.property(
        fc.array(any, { maxLength: 20 }),
        fc.double({ min: 0, max: 0.999_999, noNaN: true }),
        (all, chance) => {
          const sites = all.map(({ priority, weight }, index) => site(`h${index}`, priority, weight));
          expect(hosts(sites, () => chance).sort()).toEqual(sites.map(({ host }) => host).sort());
        },
      ),
    );
  });
});
