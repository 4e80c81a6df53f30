import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { formatProblem } from "../../src/config/problems.ts";

const base = `session-agents:
  - { hostname: a, ip-address: 192.0.2.1, out-translationid: t, in-header-rules: h }
local-policies: [{ policy-attributes: [{ next-hop: a }] }]
`;
const plain = base.replace(", out-translationid: t, in-header-rules: h", "");

function load(text: string) {
  const loaded = loadConfig(text, "weir.yaml", { WEIR_SIGNALLING_LISTEN: "udp://192.0.2.9:5060" });
  return {
    config: "config" in loaded ? loaded.config : undefined,
    errors: "errors" in loaded ? loaded.errors.map(formatProblem) : [],
    warnings: loaded.warnings.map(formatProblem),
  };
}

const translation = (rule: string) => load(`${plain}translation-rules: [{ id: t, called: [${rule}] }]`).errors;
const headerRule = (rule: string) => load(`${plain}header-rules: [{ id: h, rules: [${rule}] }]`).errors;
const policy = (text: string) => load(plain.replace(/local-policies.*/, `local-policies: [${text}]`));
const hop = "policy-attributes: [{ next-hop: a }]";

describe("translation-rules and header-rules", () => {
  it("are read with their defaults, and named by agents and realms", () => {
    const { config, errors } = load(`${base}translation-rules:
  - { id: t, called: [{ type: strip, digits: 1 }], calling: [{ type: regex, pattern: "^0(.*)", value: "+44$1" }] }
header-rules:
  - { id: h, rules: [{ action: add, header: X-Trunk, value: weir }] }
realms: [{ identifier: core, listen: "udp://192.0.2.9:5060", in-translationid: t }]
`);
    expect(errors).toEqual([]);
    expect(config?.["translation-rules"]).toMatchObject([
      { id: "t", called: [{ type: "strip", digits: 1, match: "" }], calling: [{ type: "regex", value: "+44$1" }] },
    ]);
    expect(config?.["header-rules"]).toMatchObject([{ id: "h", rules: [{ header: "X-Trunk", messages: "all" }] }]);
    expect(config?.realms).toMatchObject([{ "in-translationid": "t" }]);
  });

  it("that are named and not there are errors, with the nearest that is", () => {
    expect(load(`${base}translation-rules: [{ id: tt, called: [{ type: strip, digits: 1 }] }]`).errors).toEqual([
      'weir.yaml:2: session-agents[0].out-translationid: found "t", expected the id of one of the translation-rules; did you mean "tt"?',
      'weir.yaml:2: session-agents[0].in-header-rules: found "h", expected the id of one of the header-rules',
    ]);
  });

  it.each([
    ["{ digits: 1 }", "type: found nothing, expected strip, prefix, replace, regex or e164"],
    ["{ type: cut }", 'type: found "cut"'],
    ["{ type: strip }", "digits: found nothing, expected digits or match"],
    ["{ type: strip, digits: 1, match: 0 }", "digits: found digits and match, expected digits or match"],
    ["{ type: prefix }", "value: found nothing"],
    ["{ type: prefix, value: 0, match: 1 }", "match: not used by a rule of type prefix"],
    ["{ type: replace, match: abc, value: 1 }", 'match: found "abc", expected digits'],
    ["{ type: e164 }", "country-code: found nothing"],
    ["{ type: e164, country-code: 44, digits: 3 }", "digits: not used"],
    ['{ type: regex, pattern: "(", value: 1 }', "pattern: found"],
    ['{ type: regex, pattern: "(a)\\\\1", value: 1 }', "expected a regular expression in RE2 syntax"],
    [
      '{ type: regex, pattern: "^0", value: "$1" }',
      'value: found "$1", which names group 1, of which the pattern has 0',
    ],
    ["{ type: regex, pattern: a, valeu: b }", 'unknown key; did you mean "value"?'],
  ])("a number rule %s: %s", (rule, expected) => {
    const errors = translation(rule);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain("weir.yaml:4: translation-rules[0].called[0]");
    expect(errors[0]).toContain(expected);
  });

  it.each([
    ["{ header: X-A, value: b }", "action: found nothing, expected add, remove or replace"],
    ["{ action: add, header: X-A }", "value: found nothing, expected a value to add"],
    ["{ action: add, value: b }", 'header: found "", expected the name of a header field'],
    ["{ action: remove, header: X-A, value: b }", "value: not used by a rule that removes"],
    ["{ action: add, header: X-A, value: b, pattern: c }", "pattern: not used by a rule that adds"],
    ["{ action: remove, header: Via }", 'header: found "Via", which belongs to the leg and is not open to rules'],
    ["{ action: replace, header: From, value: b }", "belongs to the leg"],
    ['{ action: add, header: X-A, value: "b\\r\\nX-B: c" }', "value: found characters that no header field may hold"],
    ['{ action: add, header: "X A", value: b }', 'header: found "X A"'],
    ['{ action: remove, header: X-A, pattern: "a(?=b)" }', "expected a regular expression in RE2 syntax"],
  ])("a header rule %s: %s", (rule, expected) => {
    const errors = headerRule(rule);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain("weir.yaml:4: header-rules[0].rules[0]");
    expect(errors[0]).toContain(expected);
  });

  it("with an id that stands twice are errors, empty ones are told", () => {
    const { errors, warnings } = load(`${plain}translation-rules: [{ id: t }, { id: t }]\nheader-rules: [{ id: h }]`);
    expect(errors).toEqual(['weir.yaml:4: translation-rules[1].id: found "t" a second time']);
    expect(warnings).toHaveLength(3);
  });
});

describe("a policy that can never match", () => {
  it.each([
    '{ start: "08:00", end: "08:00" }',
    "{ days-of-week: sun, activate: 2126-03-04, deactivate: 2126-03-05 }",
    '{ start: "09:00", end: "10:00", activate: 2126-03-04T11:00, deactivate: 2126-03-05T08:00 }',
  ])("for its time %s is an error", (time) => {
    expect(policy(`{ ${hop}, time: ${time} }`).errors).toEqual([
      "weir.yaml:3: local-policies[0].time: found no moment at which the policy is in force, so that it never matches",
    ]);
  });

  it("any more is told, and so is a method that is never routed", () => {
    const { errors, warnings } = policy(`{ ${hop}, methods: NOTIFY, time: { deactivate: 2006-03-04 } }`);
    expect(errors).toEqual([]);
    expect(warnings).toEqual([
      "weir.yaml:3: warning: local-policies[0].time.deactivate: the date is over, so that the policy never matches again",
      "weir.yaml:3: warning: local-policies[0].methods: NOTIFY is never routed by a policy, so that the policy does not match by it",
    ]);
  });

  it("is not any with a method that is routed", () => {
    const methods = "[INVITE, REGISTER, MESSAGE, PUBLISH, SUBSCRIBE, OPTIONS, refer]";
    expect(policy(`{ ${hop}, methods: ${methods} }`)).toMatchObject({ config: {}, warnings: [] });
  });

  it("is not mistaken for one that does", () => {
    for (const time of [
      "{ days-of-week: thu, activate: 2126-03-07, deactivate: 2126-03-08 }",
      '{ start: "22:00", end: "06:00", activate: 2126-03-04T05:00, deactivate: 2126-03-04T07:00 }',
      "{ days-of-week: mon, activate: 2126-03-04, deactivate: 2126-04-05 }",
    ]) {
      expect(policy(`{ ${hop}, time: ${time} }`).errors).toEqual([]);
    }
  });

  it("reads carriers without separators and case", () => {
    const { config } = policy('{ policy-attributes: [{ next-hop: a, carriers: ["+1-0288", ABC] }] }');
    expect(config?.["local-policies"][0]?.["policy-attributes"]).toEqual([
      { "next-hop": "a", cost: 0, carriers: ["+10288", "abc"] },
    ]);
  });
});

describe("thousands of names that dangle", () => {
  it("are all told, within seconds of CPU time", () => {
    const agents = Array.from({ length: 2_000 }, (_, at) => `  - { hostname: agent-${at}, ip-address: 192.0.2.1 }`);
    const hops = Array.from({ length: 5_000 }, (_, at) => `{ next-hop: gone-${at} }`).join(", ");
    const text = `session-agents:\n${agents.join("\n")}\nlocal-policies: [{ policy-attributes: [${hops}] }]\n`;
    const before = process.cpuUsage();
    expect(load(text).errors).toHaveLength(5_000);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6).toBeLessThan(15);
  });
});
