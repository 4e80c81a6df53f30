import { describe, expect, it } from "vitest";
import { type Found, Locator } from "../../src/names/locator.ts";
import type { AddressRecord, Answer, Resolver } from "../../src/names/resolver.ts";
import { ManualClock } from "../support/manual-clock.ts";

const question = { host: "trunk.example", port: 5060, protocol: "udp" } as const;

/** A resolver told by the test what to say of every name, and a locator on virtual time. */
class Scene {
  readonly clock = new ManualClock();
  asked = 0;
  answer: Answer<AddressRecord> = address("192.0.2.1");
  readonly locator: Locator;

  constructor() {
    const resolver: Resolver = {
      addresses: async () => {
        this.asked++;
        return this.answer;
      },
      srv: async () => ({ kind: "none" }),
      naptr: async () => ({ kind: "none" }),
    };
    const reach = (_: string, family: number) => family === 4;
    this.locator = new Locator({ resolver, reach, clock: this.clock, random: () => 0, maxStale: 100 });
  }

  /** Time passes second by second, with room for promises between. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      this.clock.advance(1_000);
      await settle();
    }
  }
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

const address = (text: string, ttl = 60): Answer<AddressRecord> => ({
  kind: "records",
  records: [{ address: text, ttl }],
});
const trouble = { kind: "trouble", detail: "no answer" } as const;

const told = (found: Found): string =>
  "failure" in found ? found.failure : found.location.flatMap((site) => site.endpoints.map((to) => to.address)).join();

describe("a name that is watched", () => {
  it("is told when it is known and whenever it changes, and asked for again before its answer expires", async () => {
    const scene = new Scene();
    const heard: string[] = [];
    scene.locator.watch(question, (found) => heard.push(told(found)));
    await scene.locator.settled();
    expect(heard).toEqual(["192.0.2.1"]);
    await scene.pass(53);
    expect(scene.asked).toBe(1);
    scene.answer = address("192.0.2.2");
    await scene.pass(2);
    expect([scene.asked, heard]).toEqual([2, ["192.0.2.1", "192.0.2.2"]]);
  });

  it("is asked for once a second at most, whatever its TTL", async () => {
    const scene = new Scene();
    scene.answer = address("192.0.2.1", 0);
    scene.locator.watch(question, () => {});
    await settle();
    await scene.pass(10);
    expect(scene.asked).toBe(11);
  });

  it("keeps its last good answer while DNS is in trouble, for max-stale beyond its TTL and no longer", async () => {
    const scene = new Scene();
    const heard: string[] = [];
    scene.locator.watch(question, (found) => heard.push(told(found)));
    await settle();
    scene.answer = trouble;
    await scene.pass(155);
    expect(heard).toEqual(["192.0.2.1"]);
    await scene.pass(40);
    expect(heard).toEqual(["192.0.2.1", "no answer"]);
    scene.answer = address("192.0.2.3");
    await scene.pass(31);
    expect(heard.at(-1)).toBe("192.0.2.3");
  });

  it("leads nowhere as soon as DNS says so, and is found again within seconds", async () => {
    const scene = new Scene();
    const heard: string[] = [];
    scene.locator.watch(question, (found) => heard.push(told(found)));
    await settle();
    scene.answer = { kind: "none" };
    await scene.pass(55);
    expect(heard).toEqual(["192.0.2.1", "trunk.example has no address that can be reached"]);
    scene.answer = address("192.0.2.1");
    await scene.pass(6);
    expect(heard.at(-1)).toBe("192.0.2.1");
  });

  it("is asked for no more once nobody watches it and nobody has used it for two minutes", async () => {
    const scene = new Scene();
    const leave = scene.locator.watch(question, () => {});
    await settle();
    leave();
    await scene.pass(400);
    const { asked } = scene;
    await scene.pass(400);
    expect(scene.asked).toBe(asked);
    expect(asked).toBeLessThan(5);
  });
});

describe("a name that a request goes to", () => {
  it("is waited for the first time, and known at once from then on", async () => {
    const scene = new Scene();
    const found: string[] = [];
    const find = () =>
      scene.locator.find(question, (each) => {
        found.push("failure" in each ? each.failure : each.endpoints.map((to) => to.address).join());
      });
    find();
    expect(found).toEqual([]);
    await settle();
    expect(found).toEqual(["192.0.2.1"]);
    find();
    expect(found).toHaveLength(2);
    expect(scene.asked).toBe(1);
  });

  it("takes memory for a thousand names and no more", async () => {
    const scene = new Scene();
    for (let index = 0; index < 3_000; index++) {
      scene.locator.find({ ...question, host: `h${index}.example` }, () => {});
      if (index % 100 === 0) await settle();
    }
    await settle();
    await settle();
    expect(scene.clock.pending).toBeLessThanOrEqual(1_200);
    scene.locator.stop();
    expect(scene.clock.pending).toBe(0);
  });
});
