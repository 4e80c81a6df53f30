import { describe, expect, it } from "vitest";
import type { PolicyParams, PolicyTime } from "../../src/routing/params.ts";
import { PolicyTable, type RouteRequest } from "../../src/routing/policy-table.ts";

const policy = (
  to: string | string[],
  nextHop: string,
  more: Partial<PolicyParams> & { cost?: number } = {},
): PolicyParams => ({
  "from-address": more["from-address"] ?? ["*"],
  "to-address": typeof to === "string" ? [to] : to,
  "source-realm": more["source-realm"] ?? ["*"],
  methods: more.methods ?? [],
  ...(more.time && { time: more.time }),
  "policy-attributes": [{ "next-hop": nextHop, cost: more.cost ?? 0 }],
});

const request = (to: string, more: Partial<RouteRequest> = {}): RouteRequest => ({
  method: "INVITE",
  from: "33",
  fromHost: "caller.example",
  to,
  toHost: "weir.example",
  sourceRealm: "default",
  at: Date.UTC(2026, 5, 15, 12),
  ...more,
});

const route = (policies: PolicyParams[], to: string, more?: Partial<RouteRequest>) =>
  new PolicyTable(policies).hops(request(to, more)).map((hop) => hop.attribute["next-hop"]);

describe("local policy: to-address", () => {
  const policies = [policy("*", "any"), policy("44", "short"), policy("4420", "long")];

  it.each([
    ["44201", ["long", "short", "any"]],
    ["4421", ["short", "any"]],
    ["4420", ["long", "short", "any"]],
    ["4", ["any"]],
    ["33", ["any"]],
    ["alice", ["any"]],
  ])("%s takes the longest prefix first: %j", (to, hops) => expect(route(policies, to)).toEqual(hops));

  it("ignores visual separators, in the policy and in the number", () => {
    expect(route([policy("44-20", "x")], "(44) 20.55")).toEqual(["x"]);
  });

  it("ignores parameters of the user part", () => expect(route([policy("4420", "x")], "44201;npdi")).toEqual(["x"]));

  it("takes + as part of the number", () => {
    expect(route([policy("+44", "plus"), policy("44", "bare")], "+4420")).toEqual(["plus"]);
  });

  it("matches a host, and the domain above it, the longer first", () => {
    const hosts = [policy("example.com", "domain"), policy("pbx.example.com", "host"), policy("other.com", "other")];
    expect(route(hosts, "alice", { toHost: "PBX.example.com" })).toEqual(["host", "domain"]);
    expect(route(hosts, "alice", { toHost: "example.comx" })).toEqual([]);
  });

  it("matches an IPv6 address however it is written", () => {
    const hosts = [policy("[2001:DB8:0:0::1]", "here"), policy("[2001:db8::2]", "there")];
    expect(route(hosts, "alice", { toHost: "2001:db8::0001" })).toEqual(["here"]);
    expect(route(hosts, "alice", { toHost: "2001:0db8::2" })).toEqual(["there"]);
    expect(route(hosts, "alice", { toHost: "2001:db8::3" })).toEqual([]);
    expect(route(hosts, "alice", { toHost: "1:2:3" })).toEqual([]);
  });

  it("finds nothing when nothing matches", () => expect(route([policy("44", "x")], "33")).toEqual([]));
});

describe("local policy: order of preference", () => {
  it("lets cost outrank length", () => {
    expect(route([policy("4420", "dear", { cost: 2 }), policy("44", "cheap", { cost: 1 })], "44201")).toEqual([
      "cheap",
      "dear",
    ]);
  });

  it("lets to-address outrank from-address", () => {
    const policies = [policy("*", "from", { "from-address": ["3312"] }), policy("44", "to")];
    expect(route(policies, "4420", { from: "33123" })).toEqual(["to", "from"]);
  });

  it("takes the longer from-address at the same to-address", () => {
    const policies = [policy("44", "any"), policy("44", "from", { "from-address": ["33"] })];
    expect(route(policies, "4420")).toEqual(["from", "any"]);
  });

  it("puts policies that name the method before all others, whatever their cost", () => {
    const policies = [policy("4420", "plain"), policy("*", "method", { methods: ["INVITE"], cost: 9 })];
    expect(route(policies, "44201")).toEqual(["method", "plain"]);
    expect(route(policies, "44201", { method: "MESSAGE" })).toEqual(["plain"]);
  });

  it.each(["OPTIONS", "REFER"])("lets %s pass only where a policy names it, also after a failure", (method) => {
    const policies = [policy("4420", "plain"), policy("*", "method", { methods: [method], cost: 9 })];
    expect(route(policies, "44201", { method })).toEqual(["method"]);
    expect(route(policies.slice(0, 1), "44201", { method })).toEqual([]);
  });

  it("takes the narrower time, then the order of configuration", () => {
    const time: PolicyTime = { "days-of-week": [], start: 0, end: 24 * 60 - 1, activate: 0, deactivate: 0 };
    const policies = [policy("44", "first"), policy("44", "second"), policy("44", "narrow", { time })];
    expect(route(policies, "4420")).toEqual(["narrow", "first", "second"]);
  });

  it("filters by source realm without ranking by it", () => {
    const policies = [policy("44", "any"), policy("44", "core", { "source-realm": ["core"] })];
    expect(route(policies, "4420", { sourceRealm: "core" })).toEqual(["any", "core"]);
    expect(route(policies, "4420", { sourceRealm: "access" })).toEqual(["any"]);
  });

  it("counts a policy once that matches by two of its addresses, by the better one", () => {
    expect(route([policy(["*", "44"], "both"), policy("4", "other")], "4420")).toEqual(["both", "other"]);
  });
});

describe("local policy: time", () => {
  const at = (day: number, hour: number) => new Date(2026, 5, 14 + day, hour).getTime(); // 14 June 2026 is a Sunday
  const time = (more: Partial<PolicyTime>): PolicyTime => ({
    "days-of-week": [],
    start: 0,
    end: 24 * 60,
    activate: 0,
    deactivate: 0,
    ...more,
  });
  const inForce = (more: Partial<PolicyTime>, when: number) =>
    route([policy("44", "x", { time: time(more) })], "4420", { at: when }).length === 1;

  it("holds within its hours, the end excluded", () => {
    expect(inForce({ start: 8 * 60, end: 17 * 60 }, at(1, 8))).toBe(true);
    expect(inForce({ start: 8 * 60, end: 17 * 60 }, at(1, 17))).toBe(false);
  });

  it("spans midnight, and counts the hours after it to the day before", () => {
    const night = { "days-of-week": ["fri"], start: 22 * 60, end: 6 * 60 };
    expect(inForce(night, at(5, 23))).toBe(true);
    expect(inForce(night, at(6, 5))).toBe(true);
    expect(inForce(night, at(5, 5))).toBe(false);
    expect(inForce(night, at(6, 23))).toBe(false);
  });

  it("holds between activation and deactivation", () => {
    const span = { activate: at(1, 0), deactivate: at(2, 0) };
    expect([at(0, 23), at(1, 0), at(1, 23), at(2, 0)].map((when) => inForce(span, when))).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });
});
