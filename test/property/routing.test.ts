import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentParams } from "../../src/agents/params.ts";
import type { Lease } from "../../src/agents/session-agent.ts";
import type { GroupParams, PolicyParams } from "../../src/routing/params.ts";
import { PolicyTable, type RouteRequest } from "../../src/routing/policy-table.ts";
import { groupWith, RoutingBench, where } from "../support/routing.ts";

// A plain reading of SEMANTICS.md section 6: every policy is looked at, one after the other.

const bare = (user: string): string => user.replace(/;.*/, "").replace(/[-.() ]/g, "");

/** Length of what matches; undefined = no match. */
function matchOf(pattern: string, user: string, host: string): number | undefined {
  if (pattern === "*") return 0;
  if (/^[+\d]/.test(pattern)) {
    const prefix = bare(pattern);
    return /^\+?\d+$/.test(bare(user)) && bare(user).startsWith(prefix) ? prefix.length : undefined;
  }
  return host === pattern || host.endsWith(`.${pattern}`) ? pattern.length : undefined;
}

const longest = (patterns: readonly string[], user: string, host: string): number | undefined =>
  patterns
    .map((pattern) => matchOf(pattern, user, host))
    .reduce((best, each) => (each === undefined ? best : Math.max(best ?? 0, each)), undefined);

function linear(policies: readonly PolicyParams[], request: RouteRequest): string[] {
  const found = policies.flatMap((policy, order) => {
    const to = longest(policy["to-address"], request.to, request.toHost);
    const from = longest(policy["from-address"], request.from, request.fromHost);
    const realm = policy["source-realm"].some((each) => each === "*" || each === request.sourceRealm);
    const method = policy.methods.length === 0 || policy.methods.includes(request.method);
    if (to === undefined || from === undefined || !realm || !method) return [];
    return policy["policy-attributes"].map((attribute, position) => ({
      hop: attribute["next-hop"],
      rank: [policy.methods.length > 0 ? 0 : 1, attribute.cost, -to, -from, order, position],
    }));
  });
  const compare = (a: readonly number[], b: readonly number[]): number => {
    const at = a.findIndex((each, i) => each !== b[i]);
    return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
  };
  return found.sort((a, b) => compare(a.rank, b.rank)).map(({ hop }) => hop);
}

const digits = fc.string({ unit: fc.constantFrom(..."0123"), minLength: 1, maxLength: 4 });
const host = fc.constantFrom("example.com", "pbx.example.com", "com", "other.org");
const pattern = fc.oneof(
  fc.constant("*"),
  digits,
  digits.map((text) => `+${text}`),
  digits.map((text) => `${text.slice(0, 1)}-${text}`),
  host,
);
const patterns = fc.uniqueArray(pattern, { minLength: 1, maxLength: 3 });
const policy = fc.record({
  "from-address": patterns,
  "to-address": patterns,
  "source-realm": fc.constantFrom(["*"], ["core"], ["access", "core"]),
  methods: fc.constantFrom([], ["INVITE"], ["REGISTER"]),
  costs: fc.array(fc.nat(2), { minLength: 1, maxLength: 3 }),
});
const user = fc.oneof(
  fc.string({ unit: fc.constantFrom(..."0123"), minLength: 1, maxLength: 7 }),
  fc.string({ unit: fc.constantFrom(..."0123-.+;"), maxLength: 6 }),
  fc.constant("alice"),
);

describe("local policies", () => {
  it("are found as a plain search through all of them finds them, in the same order", () => {
    let routed = 0;
    fc.assert(
      fc.property(
        fc.array(policy, { maxLength: 12 }),
        fc.record({
          to: user,
          from: user,
          toHost: host,
          fromHost: host,
          sourceRealm: fc.constantFrom("access", "core"),
        }),
        (drawn, asked) => {
          const policies = drawn.map(
            ({ costs, ...rest }, order): PolicyParams => ({
              ...rest,
              "policy-attributes": costs.map((cost, at) => ({ "next-hop": `${order}.${at}`, cost })),
            }),
          );
          const request = { ...asked, method: "INVITE", at: 0 };
          const expected = linear(policies, request);
          routed += expected.length;
          expect(new PolicyTable(policies).hops(request).map((hop) => hop.attribute["next-hop"])).toEqual(expected);
        },
      ),
      { numRuns: 3_000 },
    );
    expect(routed).toBeGreaterThan(1_000);
  });
});

interface Flow {
  readonly strategy: GroupParams["strategy"];
  readonly agents: readonly Partial<AgentParams>[];
  /** Seconds that each call lasts; one starts each second. */
  readonly holdS: number;
  readonly calls?: number;
  /** Runs before each call. */
  readonly meanwhile?: (bench: RoutingBench, call: number) => void;
  /** Whether an agent, by its place, leaves an attempt of this call unanswered: it goes O, and the call to another. */
  readonly silent?: (place: number, call: number) => boolean;
}

/** The share of each agent, in %, over calls that start one each second. */
function shares({ strategy, agents, holdS, calls = 10_000, meanwhile, silent = () => false }: Flow): number[] {
  const names = agents.map((_, at) => "abcdefgh"[at] ?? "");
  const bench = new RoutingBench({ agents, groups: [groupWith("g", names, { strategy })] });
  const counts = new Map(names.map((name) => [name, 0]));
  const up: Lease[] = [];
  for (let call = 0; call < calls; call++) {
    meanwhile?.(bench, call);
    const plan = bench.plan();
    // Asking moves nothing and tells what the call then does.
    const [foreseen] = call % 10 === 0 ? bench.explain().candidates : [];
    let selection = plan.next();
    if (foreseen) expect(where(selection)).toBe(foreseen.agent);
    while (selection.kind === "agent" && silent(names.indexOf(selection.agent.hostname), call)) {
      selection.agent.observe({ kind: "timeout", purpose: "traffic" });
      selection.lease.release("timeout");
      plan.failed();
      selection = plan.next();
    }
    if (selection.kind !== "agent") throw new Error(`call ${call}: ${where(selection)}`);
    selection.lease.answered();
    counts.set(selection.agent.hostname, (counts.get(selection.agent.hostname) ?? 0) + 1);
    up.push(selection.lease);
    bench.clock.advance(1_000);
    if (up.length > holdS) up.shift()?.release("bye");
  }
  return [...counts.values()].map((count) => (count * 100) / calls);
}

const limits = (...maxima: number[]) => maxima.map((maximum) => ({ "max-outbound-sessions": maximum }));

function expectShares(actual: readonly number[], expected: readonly number[]): void {
  for (const [at, share] of actual.entries()) {
    expect(Math.abs(share - (expected[at] ?? 0)), `${actual}`).toBeLessThan(0.5);
  }
}

describe("over 10,000 calls, one a second, the share of each agent is", () => {
  it("all of them for the first, by hunt", () => {
    expectShares(shares({ strategy: "hunt", agents: [{}, {}, {}], holdS: 5 }), [100, 0, 0]);
  });

  it("what the first has no room for, by hunt, for the second", () => {
    expectShares(shares({ strategy: "hunt", agents: limits(30, 100), holdS: 100 }), [30, 70]);
  });

  it("the same, by round-robin", () => {
    expectShares(shares({ strategy: "round-robin", agents: limits(0, 20, 900), holdS: 5 }), [
      100 / 3,
      100 / 3,
      100 / 3,
    ]);
  });

  it("in proportion to the limits, by least-busy", () => {
    expectShares(shares({ strategy: "least-busy", agents: limits(100, 200, 300), holdS: 300 }), [100 / 6, 200 / 6, 50]);
  });

  it("the same by least-busy where none has a limit, and where each call is over before the next", () => {
    expectShares(shares({ strategy: "least-busy", agents: [{}, {}, {}], holdS: 60 }), [100 / 3, 100 / 3, 100 / 3]);
    expectShares(shares({ strategy: "least-busy", agents: limits(10, 1_000), holdS: 0 }), [50, 50]);
  });

  it("in proportion to the limits, by prop-dist, and the mean for one without", () => {
    expectShares(shares({ strategy: "prop-dist", agents: limits(100, 200, 300), holdS: 5 }), [100 / 6, 200 / 6, 50]);
    expectShares(shares({ strategy: "prop-dist", agents: limits(100, 0, 300), holdS: 5 }), [100 / 6, 200 / 6, 50]);
  });

  it("the same, by low-sus-rate", () => {
    expectShares(shares({ strategy: "low-sus-rate", agents: limits(5, 0, 0), holdS: 2 }), [100 / 3, 100 / 3, 100 / 3]);
  });

  it.each([
    ["round-robin", [25, 50, 25]],
    ["low-sus-rate", [25, 50, 25]],
    ["least-busy", [25, 50, 25]],
    ["prop-dist", [25, 50, 25]],
  ] as const)(
    "by %s a quarter for each of two that are out every other minute: no more once they are back",
    (strategy, expected) => {
      // a and c are out in turn, so that b shares each minute with one of them.
      const meanwhile = ({ agents }: RoutingBench, call: number) => {
        if (call % 60 !== 0) return;
        const out = (call / 60) % 2 === 0 ? "a" : "c";
        for (const name of ["a", "c"]) agents.get(name)?.setAdmin(name === out ? "disabled" : "enabled");
      };
      expectShares(shares({ strategy, agents: limits(300, 300, 300), holdS: 1, calls: 12_000, meanwhile }), expected);
    },
  );

  it("by round-robin, with one that is full half of the time, made up by the others", () => {
    const full = shares({ strategy: "round-robin", agents: [{}, { "max-outbound-sessions": 1 }, {}], holdS: 5 });
    // b frees its only place every sixth second.
    expect(Math.abs((full[0] ?? 0) - (full[2] ?? 0))).toBeLessThan(1);
    expect(full[1]).toBeGreaterThan(100 / 7 - 1);
    expect(full[1]).toBeLessThan(100 / 6 + 1);
  });

  describe.each(["round-robin", "low-sus-rate", "least-busy", "prop-dist"] as const)(
    "by %s the same for equals",
    (strategy) => {
      it.each([
        [1, 3],
        [1, 5],
        [1, 11],
        [0, 3],
        [2, 7],
      ])("around one with a single place, at place %i and for calls of %i s", (place, holdS) => {
        const agents = limits(300, 300, 300).with(place, { "max-outbound-sessions": 1 });
        const found = shares({ strategy, agents, holdS });
        const few = found[place] ?? 0;
        // Once free, it is the least at once, and has its call for holdS + 1 seconds. Others give it its turn.
        if (strategy === "least-busy" || strategy === "low-sus-rate") expectShares([few], [100 / (holdS + 1)]);
        expectShares(
          found,
          agents.map((_, at) => (at === place ? few : (100 - few) / 2)),
        );
      });

      it("around two with a single place each", () => {
        const found = shares({ strategy, agents: limits(300, 1, 300, 1, 300), holdS: 9 });
        const few = ((found[1] ?? 0) + (found[3] ?? 0)) / 2;
        const many = (100 - 2 * few) / 3;
        expectShares(found, [many, few, many, few, many]);
      });

      it("around one that is full by its rate", () => {
        const slow = { "max-outbound-sessions": 300, "max-outbound-sustain-rate": 0.1 };
        const found = shares({ strategy, agents: limits(300, 300, 300).with(1, slow), holdS: 5 });
        const few = found[1] ?? 0;
        expect(few).toBeLessThan(11);
        expectShares(found, [(100 - few) / 2, few, (100 - few) / 2]);
      });

      const out = { "max-outbound-sessions": 300, "time-to-resume": 20 };

      it("where each goes O in turn, as it leaves calls unanswered, and comes back", () => {
        const silent = (place: number, call: number) => Math.floor(call / 60) % 6 === place * 2;
        expectShares(shares({ strategy, agents: [out, out, out], holdS: 3, calls: 10_800, silent }), [
          100 / 3,
          100 / 3,
          100 / 3,
        ]);
      });

      it.each([3, 5, 11])("around one that goes O again and again, for calls of %i s", (holdS) => {
        const silent = (place: number, call: number) => place === 1 && call % 480 < 240;
        const found = shares({ strategy, agents: [out, out, out], holdS, calls: 10_560, silent });
        const back = found[1] ?? 0;
        expectShares(found, [(100 - back) / 2, back, (100 - back) / 2]);
        // What comes back with nothing sent of late catches up, for as long as the rates look back.
        if (strategy !== "low-sus-rate") expectShares([back], [100 / 6]);
      });
    },
  );

  it("by prop-dist within nested groups, what the agents in service can carry", () => {
    const agents = limits(100, 100, 100);
    const groups = [
      groupWith("g", ["SAG:pair", "c"], { strategy: "prop-dist" }),
      groupWith("pair", ["a", "b"], { strategy: "prop-dist" }),
    ];
    const share = (bench: RoutingBench) => {
      const counts: Record<string, number> = { a: 0, b: 0, c: 0 };
      for (let call = 0; call < 3_000; call++) {
        const selection = bench.plan().next();
        if (selection.kind !== "agent") throw new Error(where(selection));
        counts[selection.agent.hostname] = (counts[selection.agent.hostname] ?? 0) + 1;
        selection.lease.release("bye");
      }
      return Object.values(counts).map((count) => count / 30);
    };
    const bench = new RoutingBench({ agents, groups });
    expectShares(share(bench), [100 / 3, 100 / 3, 100 / 3]);
    bench.agent("a").setAdmin("disabled");
    expectShares(share(bench), [0, 50, 50]);
  });
});
