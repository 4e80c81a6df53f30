import { describe, expect, it } from "vitest";
import { SourceScreen } from "../../src/engine/core/source-screen.ts";
import type { SourceRules } from "../../src/source-rules.ts";
import { ManualClock } from "../support/manual-clock.ts";

const core = { protocol: "udp", address: "192.0.2.1", port: 5060 } as const;
const access = { protocol: "udp", address: "192.0.2.2", port: 5060 } as const;

const rules = (more: Partial<SourceRules> = {}): SourceRules => ({
  realm: "core",
  listen: [core],
  agents: ["198.51.100.1"],
  closed: false,
  allowFrom: [],
  denyFrom: [],
  maxRate: 0,
  window: 1,
  dropUserAgents: [],
  unknown: { status: 403 },
  tooMany: { status: 503 },
  ...more,
});

interface Asked {
  readonly method?: string;
  readonly userAgent?: string;
  readonly belongs?: boolean;
  readonly at?: typeof core | typeof access;
}

class Scene {
  readonly clock = new ManualClock(60_000);
  readonly screen: SourceScreen;

  constructor(...all: SourceRules[]) {
    this.screen = new SourceScreen(all, this.clock);
  }

  /** The status that a request from there is refused with, 0 = in silence; undefined = it is heard. */
  from(source: string, { method = "INVITE", userAgent, belongs = false, at = core }: Asked = {}): number | undefined {
    const request = { method, source, userAgent: () => userAgent, belongs: () => belongs };
    const entrance = { protocol: at.protocol, localAddress: at.address, localPort: at.port };
    const refusal = this.screen.judge(request, entrance);
    return refusal?.silent ? 0 : refusal?.status;
  }
}

describe("lists of sources", () => {
  it("hear those of allow-from and the agents, and no others", () => {
    const scene = new Scene(rules({ allowFrom: ["203.0.113.0/24", "2001:db8::/32"] }));
    expect(scene.from("203.0.113.77")).toBeUndefined();
    expect(scene.from("2001:db8:1::1")).toBeUndefined();
    expect(scene.from("198.51.100.1")).toBeUndefined();
    expect([scene.from("203.0.114.1"), scene.from("2001:db9::1")]).toEqual([403, 403]);
    expect(scene.screen.counters.denied).toBe(2);
  });

  it("keep those of deny-from away, agents and what allow-from names among them", () => {
    const scene = new Scene(rules({ denyFrom: ["198.51.100.0/24", "203.0.113.7/32"], allowFrom: ["203.0.113.0/24"] }));
    expect([scene.from("198.51.100.1"), scene.from("203.0.113.7"), scene.from("203.0.113.8")]).toEqual([
      403,
      403,
      undefined,
    ]);
  });

  it("keep nothing away that belongs to a dialog or a transaction", () => {
    const scene = new Scene(rules({ denyFrom: ["203.0.113.0/24"], closed: true }));
    expect(scene.from("203.0.113.1", { method: "BYE", belongs: true })).toBeUndefined();
    expect(scene.screen.counters).toMatchObject({ denied: 0, strangers: 0 });
  });

  it("are each realm's own", () => {
    const scene = new Scene(rules({ allowFrom: ["203.0.113.0/24"] }), rules({ realm: "access", listen: [access] }));
    expect([scene.from("192.0.2.9"), scene.from("192.0.2.9", { at: access })]).toEqual([403, undefined]);
  });

  it("follow agents that move", () => {
    const scene = new Scene(rules({ closed: true, unknown: { status: 403, silent: true } }));
    expect(scene.from("198.51.100.2")).toBe(0);
    scene.screen.know("core", ["198.51.100.2"]);
    expect([scene.from("198.51.100.2"), scene.from("198.51.100.1")]).toEqual([undefined, 0]);
    expect(scene.screen.counters.strangers).toBe(2);
  });
});

describe("the rate of a source", () => {
  it("is refused above the maximum within a window, each address by itself, agents never", () => {
    const scene = new Scene(rules({ maxRate: 3 }));
    const burst = (source: string) => Array.from({ length: 5 }, () => scene.from(source));
    expect(burst("203.0.113.1")).toEqual([undefined, undefined, undefined, 503, 503]);
    expect(scene.from("203.0.113.2")).toBeUndefined();
    expect(burst("198.51.100.1")).toEqual(Array(5).fill(undefined));
    scene.clock.advance(1_000);
    expect(scene.from("203.0.113.1")).toBeUndefined();
    expect(scene.screen.counters.tooMany).toBe(2);
  });

  it("is a rate: a long window takes as much more at once", () => {
    const scene = new Scene(rules({ maxRate: 0.5, window: 10 }));
    expect(Array.from({ length: 6 }, () => scene.from("203.0.113.1")).filter(Boolean)).toEqual([503]);
  });

  it("refuses no repetition of what was let in, and neither ACK nor CANCEL", () => {
    const scene = new Scene(rules({ maxRate: 1 }));
    scene.from("203.0.113.1");
    expect(scene.from("203.0.113.1", { belongs: true })).toBeUndefined();
    expect(scene.from("203.0.113.1", { method: "ACK" })).toBeUndefined();
    expect(scene.from("203.0.113.1", { method: "CANCEL" })).toBeUndefined();
    expect(scene.from("203.0.113.1", { method: "REGISTER" })).toBe(503);
  });

  it("is kept for 65,536 sources at a time, and forgotten with the window", () => {
    const scene = new Scene(rules({ maxRate: 1 }));
    for (let index = 0; index < 70_000; index++) scene.from(`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`);
    expect(scene.screen.counters).toMatchObject({ tooMany: 0, untracked: 70_000 - 65_536 });
    scene.clock.advance(1_000);
    scene.from("203.0.113.1");
    expect(scene.from("203.0.113.1")).toBe(503);
  });
});

describe("a scanner's User-Agent", () => {
  it("is met with silence whatever its case, unless it is an agent's", () => {
    const scene = new Scene(rules({ dropUserAgents: ["friendly-scanner", "sipcli"] }));
    expect(scene.from("203.0.113.1", { userAgent: "Friendly-Scanner" })).toBe(0);
    expect(scene.from("203.0.113.1", { userAgent: "sipcli/v1.8", method: "REGISTER" })).toBe(0);
    expect(scene.from("203.0.113.1", { userAgent: "Linphone" })).toBeUndefined();
    expect(scene.from("203.0.113.1")).toBeUndefined();
    expect(scene.from("198.51.100.1", { userAgent: "sipcli" })).toBeUndefined();
    expect(scene.screen.counters.scanners).toBe(2);
  });
});
