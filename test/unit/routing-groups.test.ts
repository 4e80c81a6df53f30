import { describe, expect, it } from "vitest";
import { groupWith, RoutingBench, where } from "../support/routing.ts";

const nested = (inner: Parameters<typeof groupWith>[2], outer: Parameters<typeof groupWith>[2] = {}) =>
  new RoutingBench({
    agents: [{}, {}, {}],
    groups: [groupWith("g", ["SAG:inner", "c"], outer), groupWith("inner", ["a", "b"], inner)],
  });

describe("a nested group", () => {
  it("without recursion gives way to the outer group's next member", () => {
    expect(nested({ "sag-recursion": "disabled" }).attempts(503)).toEqual(["a", "c", "next-hop-sa-oos"]);
  });

  it("left by its own stop-sag-recurse gives way too, and by that of the outer group all ends", () => {
    const stop = { "stop-sag-recurse": [{ from: 503, to: 503 }] };
    expect(nested(stop).attempts(503)).toEqual(["a", "c", "next-hop-sa-oos"]);
    expect(nested({}, stop).attempts(503)).toEqual(["a", "next-hop-sa-oos"]);
  });

  it("fails over by its own parameters, over those of the group around it", () => {
    const codes = (status: number) => ({ failover: { "recurse-codes": [{ from: status, to: status }] } });
    expect(nested(codes(404), codes(503)).attempts(404)).toEqual(["a", "b", "c"]);
    expect(nested(codes(404), codes(503)).attempts(503)).toEqual(["a"]);
  });

  it("makes no more attempts than its own maximum, which the rest may add to", () => {
    const one = { failover: { "max-attempts": 1 } };
    expect(nested(one).attempts(503)).toEqual(["a", "c", "next-hop-sa-oos"]);
    expect(nested({}, { failover: { "max-attempts": 2 } }).attempts(503)).toEqual(["a", "b", "next-hop-sa-oos"]);
  });

  it("starts afresh with each call", () => {
    const bench = nested({ "sag-recursion": "disabled" });
    bench.attempts(503);
    expect(bench.attempts(503)).toEqual(["a", "c", "next-hop-sa-oos"]);
  });

  it("by its own strategy takes turns, as the group around it does", () => {
    const bench = nested({ strategy: "round-robin" }, { strategy: "round-robin" });
    expect(Array.from({ length: 6 }, () => bench.call()).join("")).toBe("acbcac");
  });
});

describe("a Retry-After", () => {
  const held = (bench: RoutingBench, name: string) => {
    bench.agent(name).observe({ kind: "response", purpose: "traffic", status: 503, retryAfterS: 30 });
    bench.clock.advance(1_000);
  };
  const three = () => new RoutingBench({ agents: [{}, {}, {}], groups: [groupWith("g", ["a", "b", "c"])] });

  it("keeps no one off the agent that was last in service, and everyone off those before it", () => {
    const bench = three();
    held(bench, "b");
    held(bench, "a");
    held(bench, "c");
    expect(bench.attempts(503)).toEqual(["c", "next-hop-sa-exc-constraints"]);
    bench.clock.advance(27_000);
    expect(bench.call()).toBe("b");
  });

  it("holds while another candidate is in service, though that one has failed in this call", () => {
    const bench = three();
    held(bench, "b");
    held(bench, "c");
    expect(bench.attempts(503)).toEqual(["a", "next-hop-sa-exc-constraints"]);
  });

  it("is no reason to call an agent that is disabled, or at a limit as well", () => {
    const bench = new RoutingBench({ agents: [{ "max-outbound-sessions": 1 }], groups: [groupWith("g", ["a"])] });
    const first = bench.plan().next();
    held(bench, "a");
    expect(bench.call()).toBe("next-hop-sa-exc-constraints");
    if (first.kind === "agent") first.lease.release("bye");
    expect(bench.call()).toBe("a");
    bench.agent("a").setAdmin("disabled");
    expect(bench.call()).toBe("next-hop-sa-oos");
  });

  it("is told by an explanation, with the agent that gets the call in spite of it", () => {
    const bench = three();
    for (const name of ["a", "b", "c"]) held(bench, name);
    const { candidates, skipped } = bench.explain();
    expect(candidates).toMatchObject([{ agent: "c" }]);
    expect(skipped[0]?.why).toMatch(/^C: retry-after 27\/60, resumes \d\d:\d\d:\d\dZ$/);
  });
});

describe("candidates of several policies", () => {
  it("an address that two of them name is called once", () => {
    const bench = new RoutingBench({
      agents: [{}],
      policies: ["192.0.2.9:5060", "a", "192.0.2.9:5060"].map((hop, cost) => ({
        "from-address": ["*"],
        "to-address": ["*"],
        "source-realm": ["*"],
        methods: [],
        "policy-attributes": [{ "next-hop": hop, cost }],
      })),
    });
    expect(bench.attempts(503)).toEqual(["192.0.2.9:5060", "a", "next-hop-sa-oos"]);
    expect(where(bench.plan().next())).toBe("192.0.2.9:5060");
  });
});
