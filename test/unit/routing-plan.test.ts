import { describe, expect, it } from "vitest";
import type { AgentParams } from "../../src/agents/params.ts";
import type { FailoverParams, GroupParams, Strategy } from "../../src/routing/params.ts";
import type { RoutePlan } from "../../src/routing/route-plan.ts";
import { groupWith, policyWith, RoutingBench, where } from "../support/routing.ts";

type AgentOptions = Partial<AgentParams>;

const group = (name: string, strategy: Strategy, dest: string[], more: Partial<GroupParams> = {}): GroupParams =>
  groupWith(name, dest, { ...more, strategy });

/** A router over agents a, b, c, … with these options, and one policy that sends everything to `nextHops`. */
function routing(
  options: AgentOptions[],
  groups: GroupParams[],
  nextHops: string[] = ["SAG:g"],
  failover: Partial<FailoverParams> = {},
) {
  const policies = nextHops.map((hop, cost) => policyWith("*", hop, { cost }));
  const bench = new RoutingBench({ agents: options, groups, policies, failover });
  return {
    clock: bench.clock,
    plan: () => bench.plan(),
    agent: (name: string) => bench.agent(name),
    /** Where each attempt of one call goes when every attempt fails with `status`. */
    attempts: (plan: RoutePlan, status = 503) => bench.attempts(status, plan),
  };
}

/** Where each of `count` calls goes that are answered and stay up. */
const answered = (plan: () => RoutePlan, count: number) =>
  Array.from({ length: count }, () => where(plan().next())).join("");

describe("a route plan", () => {
  it("tries each member of the group once, then is exhausted", () => {
    const { attempts, plan } = routing([{}, {}, {}], [group("g", "hunt", ["a", "b", "c"])]);
    expect(attempts(plan())).toEqual(["a", "b", "c", "next-hop-sa-oos"]);
  });

  it("does not go on after a response that is not among recurse-codes", () => {
    const { attempts, plan } = routing([{}, {}], [group("g", "hunt", ["a", "b"])]);
    expect(attempts(plan(), 486)).toEqual(["a"]);
  });

  it("goes on after silence or a transport failure whatever the recurse-codes", () => {
    const { plan } = routing([{}, {}], [group("g", "hunt", ["a", "b"])], undefined, { "recurse-codes": [] });
    const route = plan();
    expect(where(route.next())).toBe("a");
    expect(route.failed()).toBe(true);
    expect(where(route.next())).toBe("b");
  });

  it("leaves the group after one attempt when sag-recursion is disabled", () => {
    const groups = [group("g", "hunt", ["a", "b"], { "sag-recursion": "disabled" })];
    const { attempts, plan } = routing([{}, {}, {}], groups, ["SAG:g", "c"]);
    expect(attempts(plan())).toEqual(["a", "c", "next-hop-sa-oos"]);
  });

  it("leaves the group after a response of stop-sag-recurse", () => {
    const groups = [group("g", "hunt", ["a", "b"], { "stop-sag-recurse": [{ from: 500, to: 503 }] })];
    const { attempts, plan } = routing([{}, {}, {}], groups, ["SAG:g", "c"]);
    expect(attempts(plan(), 502)).toEqual(["a", "c", "next-hop-sa-oos"]);
  });

  it("lets a group set its own recurse-codes", () => {
    const groups = [group("g", "hunt", ["a", "b"], { failover: { "recurse-codes": [{ from: 486, to: 486 }] } })];
    const { attempts, plan } = routing([{}, {}], groups);
    expect(attempts(plan(), 486)).toEqual(["a", "b", "next-hop-sa-oos"]);
    expect(attempts(plan(), 503)).toEqual(["a"]);
  });

  it("gives an agent one attempt however many next hops name it", () => {
    const { attempts, plan } = routing([{}, {}], [group("g", "hunt", ["a", "b"])], ["a", "SAG:g"]);
    expect(attempts(plan())).toEqual(["a", "b", "next-hop-sa-oos"]);
  });

  it("goes to a next hop that is no agent", () => {
    const { attempts, plan } = routing([{}], [], ["sip:198.51.100.9:5070"]);
    expect(attempts(plan())[0]).toBe("sip:198.51.100.9:5070");
  });

  it("stops after max-attempts", () => {
    const { attempts, plan } = routing([{}, {}, {}], [group("g", "hunt", ["a", "b", "c"])], undefined, {
      "max-attempts": 2,
    });
    expect(attempts(plan())).toHaveLength(3);
  });

  it("uses a nested group up before the outer group's next member", () => {
    const groups = [group("g", "hunt", ["SAG:inner", "c"]), group("inner", "hunt", ["a", "b"])];
    const { attempts, plan } = routing([{}, {}, {}], groups);
    expect(attempts(plan())).toEqual(["a", "b", "c", "next-hop-sa-oos"]);
  });
});

describe("a route plan and limits", () => {
  const one = { "max-outbound-sessions": 1 };

  it("passes over an agent at its limit and counts that at the limit", () => {
    const { plan, agent } = routing([one, {}], [group("g", "hunt", ["a", "b"])]);
    expect(answered(plan, 3)).toBe("abb");
    expect(agent("a").snapshot().exceeded["max-outbound-sessions"]).toBe(2);
  });

  it("names the limits when every candidate is at one, or the rest is out", () => {
    const { plan, agent } = routing([one, {}], [group("g", "hunt", ["a", "b"])]);
    agent("b").setAdmin("disabled");
    expect(answered(plan, 1)).toBe("a");
    expect(where(plan().next())).toBe("next-hop-sa-exc-constraints");
  });

  it("says out of service when no candidate is in service", () => {
    const { plan, agent } = routing([{}, {}], [group("g", "hunt", ["a", "b"])]);
    for (const name of ["a", "b"]) agent(name).setAdmin("disabled");
    expect(where(plan().next())).toBe("next-hop-sa-oos");
  });

  it("asks an agent again for a later attempt of the same call", () => {
    const { plan } = routing([one, {}, {}], [group("g", "hunt", ["a", "b", "c"])]);
    const first = plan().next();
    const route = plan();
    expect(where(route.next())).toBe("b");
    if (first.kind === "agent") first.lease.release("bye");
    expect(route.failed(503)).toBe(true);
    expect(where(route.next())).toBe("a");
  });

  it("keeps calls off an agent that answered 503 with Retry-After, but not off the last one", () => {
    const { plan, agent } = routing([{}, {}], [group("g", "hunt", ["a", "b"])]);
    agent("a").observe({ kind: "response", purpose: "traffic", status: 503, retryAfterS: 30 });
    expect(answered(plan, 2)).toBe("bb");
    agent("b").setAdmin("disabled");
    expect(answered(plan, 1)).toBe("a");
  });
});

describe("strategies", () => {
  it("hunt takes the first in order", () => {
    const { plan } = routing([{}, {}], [group("g", "hunt", ["a", "b"])]);
    expect(answered(plan, 4)).toBe("aaaa");
  });

  it("round-robin takes the next after the last one chosen", () => {
    const { plan } = routing([{}, {}, {}], [group("g", "round-robin", ["a", "b", "c"])]);
    expect(answered(plan, 7)).toBe("abcabca");
  });

  it("least-busy takes the lowest share of its limit", () => {
    const options = [{ "max-outbound-sessions": 10 }, { "max-sessions": 40 }];
    const { plan, agent } = routing(options, [group("g", "least-busy", ["a", "b"])]);
    answered(plan, 10);
    expect([agent("a").outboundActive, agent("b").outboundActive]).toEqual([2, 8]);
  });

  it("least-busy compares members without a limit by their count", () => {
    const { plan } = routing([{}, {}, {}], [group("g", "least-busy", ["a", "b", "c"])]);
    expect(answered(plan, 6)).toBe("abcabc");
  });

  it("prop-dist shares in proportion, smoothly", () => {
    const options = [10, 20, 30].map((maximum) => ({ "max-outbound-sessions": maximum }));
    const { plan } = routing(options, [group("g", "prop-dist", ["a", "b", "c"])]);
    const order = answered(plan, 30);
    expect(["a", "b", "c"].map((name) => order.split(name).length - 1)).toEqual([5, 10, 15]);
    expect(order).not.toContain("ccc");
  });

  it("prop-dist gives a member without a limit the mean weight", () => {
    const options = [{ "max-outbound-sessions": 10 }, {}, { "max-outbound-sessions": 30 }];
    const { plan } = routing(options, [group("g", "prop-dist", ["a", "b", "c"])]);
    const order = answered(plan, 12);
    expect(["a", "b", "c"].map((name) => order.split(name).length - 1)).toEqual([2, 4, 6]);
  });

  it("low-sus-rate takes the lowest current sustained rate", () => {
    const { plan, clock } = routing([{}, {}], [group("g", "low-sus-rate", ["a", "b"])]);
    expect(answered(plan, 4)).toBe("abab");
    clock.advance(1_000);
    expect(answered(plan, 2)).toBe("ab");
  });
});
