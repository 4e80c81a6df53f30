import { describe, expect, it } from "vitest";
import { defaultsOf } from "../../src/params.ts";
import { Pattern } from "../../src/routing/pattern.ts";
import { Translation } from "../../src/routing/translation.ts";
import { type NumberRule, numberRuleParams } from "../../src/routing/translation-params.ts";
import { groupWith, policyWith, RoutingBench, where } from "../support/routing.ts";

const rule = (type: NumberRule["type"], more: Partial<NumberRule> = {}): NumberRule => ({
  ...defaultsOf(numberRuleParams),
  ...more,
  type,
});

const called = (user: string, ...rules: NumberRule[]) =>
  new Translation({ id: "t", called: rules, calling: [] }).apply({ called: user, calling: "33" }).called;

const e164 = rule("e164", { "country-code": "44", "national-prefix": "0", "international-prefix": "00" });

describe("a translation of numbers", () => {
  it.each<[string, NumberRule, string, string]>([
    ["strips so many digits", rule("strip", { digits: 2 }), "0044", "44"],
    ["strips a prefix", rule("strip", { match: "00" }), "0044", "44"],
    ["leaves a number without that prefix", rule("strip", { match: "00" }), "44", "44"],
    ["puts a prefix in front", rule("prefix", { value: "+" }), "44", "+44"],
    ["replaces a prefix", rule("replace", { match: "0", value: "+44" }), "020", "+4420"],
    ["leaves another prefix", rule("replace", { match: "0", value: "+44" }), "20", "20"],
    ["replaces by regular expression", rule("regex", { pattern: "^0([1-9]\\d*)$", value: "+44$1" }), "0201", "+44201"],
    ["leaves what the expression does not match", rule("regex", { pattern: "^9", value: "" }), "0201", "0201"],
    ["takes a name by regular expression", rule("regex", { pattern: "^alice$", value: "100" }), "alice", "100"],
    ["takes a name by nothing else", rule("prefix", { value: "9" }), "alice", "alice"],
    ["keeps user parameters", rule("prefix", { value: "+" }), "44;npdi;rn=1", "+44;npdi;rn=1"],
    ["drops visual separators where it changes something", rule("strip", { digits: 1 }), "9(44)-20", "4420"],
    ["keeps visual separators where it changes nothing", rule("strip", { match: "7" }), "(44)-20", "(44)-20"],
    ["reads escapes", rule("strip", { match: "+" }), "%2B44", "44"],
    ["escapes what a user part may not hold", rule("regex", { pattern: "^", value: "a b@" }), "1", "a%20b%401"],
    ["e164: national", e164, "02012345", "+442012345"],
    ["e164: without prefix", e164, "2012345", "+442012345"],
    ["e164: international", e164, "00332012345", "+332012345"],
    ["e164: already so", e164, "+33201", "+33201"],
    ["e164: too long to be one", e164, "01234567890123456", "01234567890123456"],
    ["e164: nothing behind the prefix", e164, "00", "00"],
    ["leaves nothing", rule("strip", { digits: 9 }), "44", ""],
    ["leaves only a plus", rule("regex", { pattern: "\\d+", value: "" }), "+44", ""],
  ])("%s", (_, step, before, after) => expect(called(before, step)).toBe(after));

  it("goes through its rules in order", () => {
    expect(called("9020", rule("strip", { digits: 1 }), e164, rule("replace", { match: "+", value: "00" }))).toBe(
      "004420",
    );
  });

  it("makes a caller anonymous of whose number it leaves nothing", () => {
    const translation = new Translation({ id: "t", called: [], calling: [rule("strip", { digits: 9 })] });
    expect(translation.apply({ called: "1", calling: "33" })).toEqual({ called: "1", calling: "anonymous" });
  });
});

describe("a regular expression", () => {
  it("is done in time with the length of the text, however it is written", () => {
    const hostile = Pattern.parse("^(([a-z0-9]+)+)+$");
    if (!(hostile instanceof Pattern)) throw new Error(hostile.error);
    const before = process.cpuUsage();
    expect(hostile.test(`${"a1".repeat(2_000)}!`)).toBe(false);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(2_000);
  });

  it.each(["(", "a(?=b)", "(a)\\1", "(((a{1,1000}){1,1000}){1,1000})"])("is refused as %s", (text) =>
    expect(Pattern.parse(text)).toHaveProperty("error"),
  );
});

describe("translations on a route", () => {
  const strip9 = { id: "strip9", called: [rule("strip", { match: "9" })], calling: [] };
  const plus = { id: "plus", called: [rule("prefix", { value: "+" })], calling: [rule("prefix", { value: "+" })] };
  const empty = { id: "empty", called: [rule("strip", { digits: 20 })], calling: [] };
  const translations = [strip9, plus, empty];
  const groups = [groupWith("g", ["a", "b"])];
  const policies = [policyWith("44", "SAG:g")];

  it("come before the policy on the way in, by agent or else by realm", () => {
    const realms = [{ identifier: "default", "in-translationid": "empty" }];
    const agents = [{}, {}, { "in-translationid": "strip9" }];
    const bench = new RoutingBench({ agents, groups, policies, translations, realms });
    const selection = bench.plan({ to: "944", source: "c" }).next();
    expect(selection).toMatchObject({ kind: "agent", numbers: { called: "44", calling: "33" } });
    expect(bench.call({ to: "944", source: "a" })).toBe("translation-failed");
    expect(bench.call({ to: "944" })).toBe("translation-failed");
  });

  it("are each agent's own on the way out, or else its realm's", () => {
    const realms = [{ identifier: "default", "out-translationid": "plus" }];
    const bench = new RoutingBench({
      agents: [{ "out-translationid": "strip9" }, {}],
      groups,
      policies: [policyWith("9", "SAG:g")],
      translations,
      realms,
    });
    const plan = bench.plan({ to: "944" });
    expect(plan.next()).toMatchObject({ numbers: { called: "44", calling: "33" } });
    plan.failed();
    expect(plan.next()).toMatchObject({ numbers: { called: "+944", calling: "+33" } });
  });

  it("say nothing where there are none", () => {
    const bench = new RoutingBench({ agents: [{}, {}], groups, policies });
    expect(bench.plan().next()).not.toHaveProperty("numbers");
  });

  it("that leave nothing pass the agent over, touch no counter, and are the cause when no other is left", () => {
    const agents = [{ "out-translationid": "empty", "max-outbound-sessions": 5 }, {}];
    const bench = new RoutingBench({ agents, groups, policies, translations });
    const plan = bench.plan();
    expect(where(plan.next())).toBe("b");
    expect(plan.trace.passedOver).toMatchObject([{ agent: "a", state: "I", reason: "translation" }]);
    expect(bench.agent("a").snapshot().exceeded).toEqual({});
    const alone = new RoutingBench({ agents, groups: [groupWith("g", ["a"])], policies, translations });
    expect(alone.call()).toBe("translation-failed");
    expect(alone.explain().skipped[0]?.why).toMatch(/^I: its translation empties the called number/);
  });
});
