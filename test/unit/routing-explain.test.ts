import { describe, expect, it } from "vitest";
import type { AgentParams } from "../../src/agents/params.ts";
import { routeView, shortOf } from "../../src/routing/explanation.ts";
import type { GroupParams, PolicyParams } from "../../src/routing/params.ts";
import { groupWith, policyWith, RoutingBench } from "../support/routing.ts";

const limited: Partial<AgentParams> = { "max-outbound-sessions": 1 };

function carriers(strategy: GroupParams["strategy"], policies?: readonly PolicyParams[]) {
  return new RoutingBench({
    agents: [{}, limited, {}],
    groups: [groupWith("carriers", ["a", "b", "c"], { strategy })],
    policies: policies ?? [policyWith("44", "SAG:carriers")],
  });
}

describe("an explanation", () => {
  it("names the policies that match in order of preference, and by what they match", () => {
    const bench = carriers("hunt", [
      policyWith("*", "SAG:carriers"),
      policyWith(["44", "4420"], "a", { "from-address": ["33"], cost: 0 }),
    ]);
    expect(bench.explain({ to: "44201", from: "331" }).policies).toMatchObject([
      { policy: "local-policies[1]", "next-hop": "a", "to-address": "4420", "from-address": "33", cost: 0 },
      { policy: "local-policies[0]", "next-hop": "SAG:carriers", "to-address": "*" },
    ]);
  });

  it("names the condition that keeps a policy with fitting addresses out", () => {
    const time = { "days-of-week": [], start: 0, end: 1, activate: 1, deactivate: 2 };
    const bench = carriers("hunt", [
      policyWith("44", "a", { "source-realm": ["core"] }),
      policyWith("44", "a", { methods: ["REGISTER"] }),
      policyWith("44", "a", { time }),
      policyWith("44", "a", { carriers: ["1234"] }),
      policyWith("33", "a"),
    ]);
    expect(bench.explain({ to: "44" })).toMatchObject({
      unfit: [
        { policy: "local-policies[0]", because: "source-realm" },
        { policy: "local-policies[1]", because: "methods" },
        { policy: "local-policies[2]", because: "time" },
        { policy: "local-policies[3]", because: "carriers" },
      ],
      policies: [],
      candidates: [],
      exhausted: "no-route",
    });
  });

  it("names the policy that each candidate comes from", () => {
    const bench = carriers("hunt", [
      policyWith("44", "b"),
      policyWith("44", "SAG:carriers"),
      policyWith("*", "192.0.2.9"),
    ]);
    bench.agent("b").setAdmin("disabled");
    expect(bench.explain({ to: "44" }).candidates).toEqual([
      { agent: "a", group: "carriers", policy: "local-policies[1]" },
      { agent: "c", group: "carriers", policy: "local-policies[1]" },
      { address: "192.0.2.9", policy: "local-policies[2]" },
    ]);
  });

  it("lists the candidates as they would be tried, and why each other agent is skipped", () => {
    const bench = carriers("hunt");
    bench.agent("a").observe({ kind: "timeout", purpose: "traffic" });
    bench.clock.advance(7_000);
    bench.agent("b").admit({ direction: "outbound", method: "INVITE" });
    const { candidates, skipped, exhausted } = bench.explain({ to: "44" });
    expect(candidates).toEqual([{ agent: "c", group: "carriers", policy: "local-policies[0]" }]);
    const wentAt = new Date(bench.clock.date() - 7_000).toISOString();
    const backAt = new Date(bench.clock.date() + 23_000).toISOString();
    expect(skipped).toMatchObject([
      {
        agent: "a",
        state: { letter: "O", word: "out-of-service" },
        reason: "timeout",
        since: wentAt,
        resumeAt: backAt,
      },
      { agent: "b", state: { letter: "C" }, exceeded: [{ limit: "max-outbound-sessions", value: 1, maximum: 1 }] },
    ]);
    expect(skipped.map(({ why }) => why)).toEqual([
      `O: no response since ${wentAt.slice(11, 19)}Z, resumes ${backAt.slice(11, 19)}Z`,
      "C: max-outbound-sessions 1/1",
    ]);
    expect(exhausted).toBe("next-hop-sa-exc-constraints");
  });

  it.each(["hunt", "round-robin", "least-busy", "prop-dist", "low-sus-rate"] as const)(
    "moves nothing: %s goes on as if nobody had asked",
    (strategy) => {
      const asked = carriers(strategy);
      const unasked = carriers(strategy);
      asked.agent("b").admit({ direction: "outbound", method: "INVITE" });
      unasked.agent("b").admit({ direction: "outbound", method: "INVITE" });
      for (let call = 0; call < 20; call++) {
        const first = asked.explain({ to: "44" }).candidates[0]?.agent;
        expect(asked.explain({ to: "44" }).candidates[0]?.agent).toBe(first);
        expect([asked.call({ to: "44" }), first]).toEqual([unasked.call({ to: "44" }), first]);
      }
      for (const name of ["a", "b", "c"]) {
        expect(asked.agent(name).snapshot()).toEqual(unasked.agent(name).snapshot());
      }
    },
  );

  it("is what the trace of a real call says, in short for its log line", () => {
    const bench = carriers("hunt");
    bench.agent("a").observe({ kind: "timeout", purpose: "traffic" });
    bench.agent("b").admit({ direction: "outbound", method: "INVITE" });
    const explained = bench.explain({ to: "44" });
    const plan = bench.plan({ to: "44" });
    plan.next();
    const view = routeView(plan.trace, bench.clock.dateOffset);
    expect(view.policies).toEqual(explained.policies);
    expect(view.skipped).toEqual(explained.skipped.slice(0, 2));
    expect(plan.trace.passedOver.map(shortOf)).toEqual(["a O timeout", "b C max-outbound-sessions 1/1"]);
  });

  it("survives being written out and read back, as a call's record must", () => {
    const bench = carriers("hunt");
    bench.agent("a").observe({ kind: "timeout", purpose: "traffic" });
    const plan = bench.plan({ to: "44" });
    plan.next();
    expect(plan.trace.passedOver).toHaveLength(1);
    expect(JSON.parse(JSON.stringify(plan.trace))).toEqual(plan.trace);
  });
});
