import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { WeirConfig } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";
import { formatProblem } from "../../src/config/problems.ts";

/** The least that is a whole configuration, so that a test adds only what it is about. */
const base = `
session-agents:
  - { hostname: carrier-a, ip-address: 127.0.0.1, port: 5071 }
  - { hostname: carrier-b, ip-address: 127.0.0.1, port: 5072 }
local-policies:
  - { to-address: ["*"], policy-attributes: [{ next-hop: carrier-a }] }
`;

function read(text: string, environment: NodeJS.ProcessEnv = {}) {
  const loaded = loadConfig(text.trimStart(), "weir.yaml", environment);
  return {
    config: "config" in loaded ? loaded.config : undefined,
    errors: "errors" in loaded ? loaded.errors.map(formatProblem) : [],
    warnings: loaded.warnings.map(formatProblem),
  };
}

function valid(text: string, environment: NodeJS.ProcessEnv = {}): WeirConfig {
  const { config, errors } = read(text, environment);
  expect(errors).toEqual([]);
  if (!config) throw new Error("no configuration and no error");
  return config;
}

/** The errors that an agent with these parameters has, without the place of the agent. */
const agentErrors = (params: string): string[] =>
  read(agent(params)).errors.map((line) => line.replace("weir.yaml:2: session-agents[0].", ""));
const agentWarnings = (params: string): string[] =>
  read(agent(params)).warnings.map((line) => line.replace("weir.yaml:2: warning: session-agents[0].", ""));
const agent = (params: string): string => `session-agents:
  - { hostname: a, ip-address: 127.0.0.1, port: 5071, ${params} }
local-policies:
  - policy-attributes: [{ next-hop: a }]
`;

describe("a configuration with everything left to its default", () => {
  it("listens on the loopback interface with the embedded engine", () => {
    const { signalling, realms, admin } = valid(base);
    expect(signalling.engine).toBe("embedded");
    expect(signalling.listen).toEqual([
      { protocol: "udp", address: "127.0.0.1", port: 5060 },
      { protocol: "tcp", address: "127.0.0.1", port: 5060 },
    ]);
    expect(realms).toMatchObject([{ identifier: "default", listen: signalling.listen, allow: "any" }]);
    expect(admin.listen).toEqual({ address: "127.0.0.1", port: 8080 });
  });

  it("fills in every parameter of an agent, and the one realm there is", () => {
    const [first] = valid(base)["session-agents"];
    expect(first).toMatchObject({
      hostname: "carrier-a",
      port: 5071,
      "transport-method": "UDP",
      "realm-id": "default",
      "max-sessions": 0,
      "time-to-resume": 30,
      "rate-constraints": [],
    });
  });

  it("fails over after the codes that the tables name", () => {
    expect(valid(base).failover["recurse-codes"].map(({ from }) => from)).toEqual([408, 500, 502, 503, 504]);
  });
});

describe("config/weir.yaml", () => {
  it("is valid as it is, without a warning", () => {
    const text = readFileSync(new URL("../../config/weir.yaml", import.meta.url), "utf8");
    expect(read(text)).toMatchObject({ errors: [], warnings: [] });
  });
});

describe("all errors of a configuration", () => {
  const text = `signalling: { engine: embeded }
session-agents:
  - hostname: carrier-a
    max-outbound-sessions: "lots"
    max-outbond-sessions: 4
session-agent-groups:
  - group-name: carriers
    dest: [carrier-a,
           no-such-agent]
local-policies:
  - policy-attributes: [{ next-hop: "SAG:cariers" }]
loging: {}
`;

  it("are told at once, each with file, line, path, what was found and what was expected", () => {
    expect(read(text).errors).toEqual([
      'weir.yaml:1: signalling.engine: found "embeded", expected embedded or drachtio; did you mean "embedded"?',
      'weir.yaml:4: session-agents[0].max-outbound-sessions: found "lots", expected a whole number 0 to 1000000',
      'weir.yaml:5: session-agents[0].max-outbond-sessions: unknown key; did you mean "max-outbound-sessions"?',
      'weir.yaml:9: session-agent-groups[0].dest[1]: found "no-such-agent", expected a session agent\'s hostname or SAG:group',
      'weir.yaml:11: local-policies[0].policy-attributes[0].next-hop: found "SAG:cariers", expected a session agent\'s hostname, SAG:group or a SIP address; did you mean "SAG:carriers"?',
      'weir.yaml:12: loging: unknown key; did you mean "logging"?',
    ]);
  });
});

describe("a value that is an error", () => {
  it.each([
    ["header-rules: [{ id: x, rules: [{ action: ad, header: X-A }] }]", 'action: found "ad", expected add, remove'],
    ["local-policies: [{ policy-attributes: { next-hop: a } }]", "policy-attributes: found a map, expected a list"],
    ["local-policies: [{ policy-attributes: 5 }]", "policy-attributes: found 5, expected a list"],
    ["local-policies: [{}]", "policy-attributes: found nothing, expected at least one next-hop"],
  ])("is told once: %s", (text, expected) => {
    const loaded = loadConfig(text, "weir.yaml", {});
    if (!("errors" in loaded)) throw new Error("nothing was wrong");
    expect(loaded.errors.map(formatProblem)).toEqual([expect.stringContaining(expected)]);
  });

  it("is not warned about as well", () => {
    const text = "session-agents: [{ hostname: a, ip-address: 192.0.2.300 }]\nlocal-policies: 5\n";
    const loaded = loadConfig(text, "weir.yaml", {});
    expect("errors" in loaded && loaded.errors.map(({ path }) => path)).toEqual([
      "session-agents[0].ip-address",
      "local-policies",
    ]);
    expect(loaded.warnings).toEqual([]);
  });
});

describe("a list of addresses or codes", () => {
  it("is refused by its items, each with its own place", () => {
    const text = `signalling:
  listen:
    - udp://127.0.0.2:5060
    - udp://127.0.0.2:99999
    - [tcp]
failover: { recurse-codes: [503, 99] }
`;
    const addresses =
      "expected addresses such as udp://192.0.2.1:5060, tcp://[2001:db8::1]:5060 or tls://192.0.2.1:5061";
    expect(read(text).errors).toEqual([
      `weir.yaml:4: signalling.listen[1]: found "udp://127.0.0.2:99999", ${addresses}`,
      `weir.yaml:5: signalling.listen[2]: found a list of 1, ${addresses}`,
      "weir.yaml:6: failover.recurse-codes[1]: found 99, expected response codes 100 to 699 or ranges such as 500-599",
    ]);
  });
});

describe("a number", () => {
  it("is refused outside its range, as a fraction where whole, and as text", () => {
    expect(agentErrors("max-sessions: -1")).toEqual(["max-sessions: found -1, expected a whole number 0 to 1000000"]);
    expect(agentErrors("min-seizures: 0")).toEqual(["min-seizures: found 0, expected a whole number 1 to 1000"]);
    expect(agentErrors("max-sessions: 1.5")).toEqual(["max-sessions: found 1.5, expected a whole number 0 to 1000000"]);
    expect(agentErrors('max-sessions: "5"')).toEqual(['max-sessions: found "5", expected a whole number 0 to 1000000']);
    expect(agentErrors("max-sessions: .nan")).toEqual([
      "max-sessions: found .nan, expected a whole number 0 to 1000000",
    ]);
    expect(agentErrors("max-sessions: [5]")).toEqual([
      "max-sessions: found a list of 1, expected a whole number 0 to 1000000",
    ]);
    expect(agentErrors("max-sessions: ~")).toEqual([
      "max-sessions: found nothing, expected a whole number 0 to 1000000",
    ]);
  });

  it("may be a fraction where its table says so", () => {
    expect(valid(agent("max-burst-rate: 0.5"))["session-agents"][0]?.["max-burst-rate"]).toBe(0.5);
  });
});

describe("response codes", () => {
  const codes = (text: string) =>
    valid(agent(`out-service-response-codes: ${text}`))["session-agents"][0]?.["out-service-response-codes"];

  it.each(['"503,504"', "[503, 504]", '["503", "504"]'])("may be written as %s", (text) => {
    expect(codes(text)).toEqual([
      { from: 503, to: 503 },
      { from: 504, to: 504 },
    ]);
  });

  it("may be one code, a range or none", () => {
    expect(codes("503")).toEqual([{ from: 503, to: 503 }]);
    expect(codes('["500-599"]')).toEqual([{ from: 500, to: 599 }]);
    expect(codes('""')).toEqual([]);
    expect(codes("[]")).toEqual([]);
  });

  it.each(["[99]", "700", "599-500", "[[503]]", "five", "{}"])("are refused as %s", (text) => {
    expect(agentErrors(`out-service-response-codes: ${text}`)).toHaveLength(1);
  });
});

describe("text that YAML takes for a number", () => {
  it("stays as it was typed", () => {
    const [policy] = valid(base.replace('"*"', "0044, +49"))["local-policies"];
    expect(policy?.["to-address"]).toEqual(["0044", "+49"]);
    expect(valid(agent("ping-from-user-part: 1.10"))["session-agents"][0]?.["ping-from-user-part"]).toBe("1.10");
  });
});

describe("a session agent", () => {
  it("leaves the port of an agent without an address to DNS, unless it has one", () => {
    const portOf = (params: string) => {
      const loaded = read(`session-agents: [{ hostname: trunk.example${params} }]\n`);
      return loaded.config?.["session-agents"][0]?.port;
    };
    expect(["", ", port: 5060", ", ip-address: 192.0.2.1"].map(portOf)).toEqual([0, 5060, 5060]);
  });

  it("takes no name that DNS cannot be asked for in place of an address", () => {
    expect(read("session-agents:\n  - { hostname: 'trunk..example' }\n").errors).toEqual([
      'weir.yaml:2: session-agents[0].hostname: found "trunk..example", expected a name that DNS can be asked for, or an ip-address beside it',
    ]);
  });

  it("may name DNS servers, each numeric", () => {
    expect(read(`dns: { servers: ["192.0.2.53", "[2001:db8::53]:5353"] }\n${base}`).config?.dns.servers).toEqual([
      "192.0.2.53",
      "[2001:db8::53]:5353",
    ]);
    expect(read(`dns:\n  servers: [192.0.2.53, ns.example, "192.0.2.53:0"]\n${base}`).errors).toEqual([
      'weir.yaml:2: dns.servers[1]: found "ns.example", expected numeric addresses, with a port where it is not 53, such as 192.0.2.53 or [2001:db8::53]:5353',
      'weir.yaml:2: dns.servers[2]: found "192.0.2.53:0", expected numeric addresses, with a port where it is not 53, such as 192.0.2.53 or [2001:db8::53]:5353',
    ]);
  });

  it("takes networks and single addresses, for all realms and for each, and shows which agents they keep away", () => {
    const realm = (more: string) => `{ identifier: core, listen: ["udp://192.0.2.1:5060"]${more} }`;
    const file = (sources: string, more: string) =>
      `sources: ${sources}\nrealms: [${realm(more)}]\nsession-agents: [{ hostname: a, ip-address: 203.0.113.9 }]
local-policies: [{ policy-attributes: [{ next-hop: a }] }]\n`;
    const good = read(file("{ deny-from: 198.51.100.1, max-source-rate: 9 }", ", allow-from: [2001:DB8:0::/32]"));
    expect(good.config?.signalling.sources).toMatchObject([
      { denyFrom: ["198.51.100.1/32"], allowFrom: ["2001:db8::/32"], maxRate: 9, agents: ["203.0.113.9"] },
    ]);
    expect(read(file("{ deny-from: [192.0.2.0/33, example.net] }", "")).errors).toEqual([
      'weir.yaml:1: sources.deny-from[0]: found "192.0.2.0/33", expected networks or addresses such as 192.0.2.0/24 or 2001:db8::1',
      'weir.yaml:1: sources.deny-from[1]: found "example.net", expected networks or addresses such as 192.0.2.0/24 or 2001:db8::1',
    ]);
    expect(read(file("{ deny-from: [203.0.113.0/24] }", ", allow: agents, allow-from: 192.0.2.0/24")).warnings).toEqual(
      [
        "weir.yaml:2: warning: realms[0].allow-from: not used, as allow is agents, so that nobody else is heard",
        "weir.yaml:3: warning: session-agents[0].ip-address: in deny-from of the realm core, so that its requests are refused",
      ],
    );
  });

  it("maps the refusal of a source to another status, or to silence", () => {
    const refusals = (map: string) => {
      const { unknown, tooMany } = read(`local-response-map: ${map}\n${base}`).config?.signalling.sources?.[0] ?? {};
      return [unknown, tooMany];
    };
    expect(refusals("{}")).toMatchObject([{ status: 403 }, { status: 503, retryAfter: { min: 5, max: 15 } }]);
    expect(refusals("{ unknown-source: { status: 404, reason: Gone }, source-rate: { status: 0 } }")).toMatchObject([
      { status: 404, reason: "Gone" },
      { status: 503, silent: true },
    ]);
  });

  it("needs a hostname of its own", () => {
    expect(read(base.replace("carrier-b", "carrier-a")).errors).toEqual([
      'weir.yaml:3: session-agents[1].hostname: found "carrier-a" a second time, expected it once (first on line 2)',
    ]);
    expect(read(base.replace("hostname: carrier-b, ", "")).errors).toEqual([
      "weir.yaml:3: session-agents[1].hostname: found nothing, expected a name",
    ]);
  });

  it("must be able to come back", () => {
    expect(agentErrors("time-to-resume: 0")).toEqual([
      "time-to-resume: found 0 and no ping, expected one of the two: once out of service it could never return",
    ]);
    expect(agentErrors("time-to-resume: 0, ping-method: OPTIONS, ping-interval: 5")).toEqual([]);
    expect(agentErrors("time-to-resume: 0, ping-method: OPTIONS, ping-interval: 5, min-asr: 50")).toEqual([
      "time-to-resume: found 0, expected more than 0 beside min-asr: once below it the agent could never return",
    ]);
  });

  it("has no directional maximum above the total", () => {
    expect(agentErrors("max-sessions: 5, max-outbound-sessions: 6")).toEqual([
      "max-outbound-sessions: found 6, expected no more than max-sessions, which is 5",
    ]);
    expect(agentErrors("max-sessions: 5, max-inbound-sessions: 5")).toEqual([]);
    expect(agentErrors("max-sessions: 0, max-inbound-sessions: 5")).toEqual([]);
  });

  it("counts rates in windows that are longer than nothing", () => {
    expect(agentErrors("burst-rate-window: 0, max-inbound-burst-rate: 6")).toEqual([
      "burst-rate-window: found 0, expected more than 0 beside max-inbound-burst-rate, which is counted in it",
    ]);
    expect(agentErrors("sustain-rate-window: 0, min-asr: 6")).toEqual([
      "sustain-rate-window: found 0, expected more than 0 beside min-asr, which is counted in it",
    ]);
    expect(
      agentErrors("sustain-rate-window: 0, rate-constraints: [{ method: OPTIONS, max-inbound-sustain-rate: 1 }]"),
    ).toHaveLength(1);
    expect(agentErrors("burst-rate-window: 0")).toEqual([]);
  });

  it("has a numeric address, and a port beside it", () => {
    expect(read(base.replace("port: 5071", "port: 0")).errors).toHaveLength(1);
    expect(read(base.replace("ip-address: 127.0.0.1, port: 5071", "port: 0")).errors).toEqual([]);
    expect(read(base.replace("127.0.0.1, port: 5071", "localhost")).errors).toEqual([
      'weir.yaml:2: session-agents[0].ip-address: found "localhost", expected a numeric IPv4 or IPv6 address',
    ]);
  });

  it("has its IPv6 address as the network layer writes it", () => {
    const { config } = read(base.replace("127.0.0.1", "2001:DB8:0:0::1"));
    expect(config?.["session-agents"][0]?.["ip-address"]).toBe("2001:db8::1");
  });

  it("has each method's own rates once", () => {
    const twice = "rate-constraints: [{ method: OPTIONS }, { method: options }]";
    expect(agentErrors(twice)).toEqual([
      "rate-constraints[1].method: found OPTIONS a second time, expected each method once",
    ]);
    expect(agentErrors("rate-constraints: [{}]")).toHaveLength(1);
  });

  it("may be odd, and a warning says how", () => {
    expect(agentWarnings("max-burst-rate: 2, max-sustain-rate: 3")).toEqual([
      "max-sustain-rate: 3 is above max-burst-rate, which is 2, so that it never limits",
    ]);
    expect(agentWarnings("max-outbound-sustain-rate: 4, max-sustain-rate: 3, max-inbound-sustain-rate: 3")).toEqual([
      "max-outbound-sustain-rate: 4 is above max-sustain-rate, which is 3, so that it never limits",
    ]);
    const ofMethod = "{ method: MESSAGE, max-inbound-burst-rate: 1, max-inbound-sustain-rate: 2 }";
    expect(agentWarnings(`rate-constraints: [${ofMethod}]`)).toEqual([
      "rate-constraints: MESSAGE max-inbound-sustain-rate: 2 is above max-inbound-burst-rate, which is 1, so that it never limits",
    ]);
    expect(agentWarnings("ping-send-mode: continuous, out-service-response-codes: 503")).toEqual([
      "out-service-response-codes: not used, as ping-send-mode is continuous: ping-out-service-response-codes is",
    ]);
    expect(agentWarnings("ping-out-service-response-codes: 503")).toEqual([
      "ping-out-service-response-codes: not used, as ping-send-mode is keep-alive: out-service-response-codes is",
    ]);
    expect(agentWarnings("ping-method: OPTIONS, ping-interval: 60, ping-timeout: 33")).toEqual([
      "ping-timeout: 33 s is longer than the 32 s that any answer is waited for",
    ]);
    expect(agentWarnings("ping-interval: 5")).toEqual(["ping-interval: no ping is sent, as ping-method is empty"]);
    expect(agentWarnings("tls-verify: disabled")).toEqual(["tls-verify: not used, as transport-method is not TLS"]);
    expect(agentWarnings("transport-method: TLS")).toEqual([
      "transport-method: the agent cannot be reached, as Weir listens on no TLS IPv4 address",
    ]);
    expect(read(base.replace("5071", "5060")).warnings).toEqual([
      "weir.yaml:2: warning: session-agents[0].ip-address: 127.0.0.1:5060 is where Weir itself listens",
    ]);
    expect(read(base.replace("5072", "5071")).warnings).toHaveLength(1);
  });

  it("are warned of where only loopback addresses are listened on and theirs is none", () => {
    const far = base.replace("127.0.0.1, port: 5071", "192.0.2.10, port: 5071");
    expect(read(far).warnings).toEqual([
      "weir.yaml:2: warning: session-agents[0].ip-address: 192.0.2.10 cannot be reached from the loopback addresses " +
        "that Weir listens on for UDP IPv4; add an address of this machine to listen on",
    ]);
    const listening = (listen: string) => read(far, { WEIR_SIGNALLING_LISTEN: listen }).warnings;
    expect(listening("udp://127.0.0.1:5060,udp://192.0.2.1:5060")).toEqual([]);
    expect(listening("udp://0.0.0.0:5060")).toEqual([]);
    // The other protocol is no way to it.
    expect(listening("udp://127.0.0.1:5060,tcp://192.0.2.1:5060")).toHaveLength(1);
  });
});

describe("a group", () => {
  const groups = (list: string) => read(`${base}session-agent-groups:\n${list}`);

  it("takes agents, and groups by SAG:name or by a name that no agent has", () => {
    const { config, errors } = groups(`
  - { group-name: outer, dest: [carrier-a, "SAG:inner", other] }
  - { group-name: inner, dest: [carrier-b] }
  - { group-name: other, dest: [carrier-b], strategy: round-robin, recurse-codes: [503], sag-recursion: disabled }`);
    expect(errors).toEqual([]);
    expect(config?.["session-agent-groups"].map(({ dest }) => dest)).toEqual([
      ["carrier-a", "SAG:inner", "other"],
      ["carrier-b"],
      ["carrier-b"],
    ]);
    expect(config?.["session-agent-groups"][2]).toMatchObject({
      strategy: "round-robin",
      "sag-recursion": "disabled",
      failover: { "recurse-codes": [{ from: 503, to: 503 }] },
    });
  });

  it("is not within itself, however far down", () => {
    const { errors } = groups(`
  - { group-name: one, dest: ["SAG:two"] }
  - { group-name: two, dest: ["SAG:three", carrier-a] }
  - { group-name: three, dest: ["SAG:two"] }`);
    expect(errors).toEqual([
      "weir.yaml:10: session-agent-groups[2].dest[0]: found the cycle of groups two > three > two, expected no group within itself",
    ]);
  });

  it("may stand in two groups", () => {
    const { errors } = groups(`
  - { group-name: one, dest: ["SAG:three"] }
  - { group-name: two, dest: ["SAG:three", "SAG:one"] }
  - { group-name: three, dest: [carrier-a] }`);
    expect(errors).toEqual([]);
  });

  it("has a name of its own, each member once, and members at all", () => {
    const { errors, warnings } = groups(`
  - { group-name: one, dest: [carrier-a, carrier-a] }
  - { group-name: one, dest: [] }
  - { group-name: two }`);
    expect(errors).toHaveLength(3);
    expect(warnings).toHaveLength(1);
  });
});

describe("a local policy", () => {
  const policy = (text: string) =>
    read(`session-agents: [{ hostname: a, ip-address: 127.0.0.1 , port: 5071 }]\nlocal-policies:\n  - ${text}\n`);
  const hop = "policy-attributes: [{ next-hop: a }]";

  it("matches anything where it does not say", () => {
    expect(policy(`{ ${hop} }`).config?.["local-policies"]).toEqual([
      {
        "from-address": ["*"],
        "to-address": ["*"],
        "source-realm": ["*"],
        methods: [],
        "policy-attributes": [{ "next-hop": "a", cost: 0 }],
      },
    ]);
  });

  it.each([
    ...["sip:192.0.2.1:5070", "192.0.2.1", "192.0.2.1:5070", "[2001:db8::1]:5070", "gw.example.com"],
    ...["sip:gw", "sips:gw.example.com", "sip:192.0.2.1;transport=tcp", "sip:trunk@[2001:db8::1]:5070;transport=TLS"],
  ])("may lead to the address %s", (address) => {
    const { config, errors } = policy(`{ policy-attributes: [{ next-hop: "${address}" }] }`);
    expect(errors).toEqual([]);
    expect(config?.["local-policies"][0]?.["policy-attributes"][0]?.["next-hop"]).toBe(address);
  });

  it("refuses a next hop that is neither agent, group nor address, and having none", () => {
    expect(policy("{ policy-attributes: [{ next-hop: nobody }] }").errors).toHaveLength(1);
    expect(policy("{ policy-attributes: [{ next-hop: sag:nobody }] }").errors).toHaveLength(1);
    for (const uri of ["sip:", "sip:;;;@@", "sip:gw;transport=sctp", "sip:gw:", "a;transport=tcp"]) {
      expect(policy(`{ policy-attributes: [{ next-hop: "${uri}" }] }`).errors).toHaveLength(1);
    }
    expect(policy("{ policy-attributes: [{ cost: 1 }] }").errors).toHaveLength(1);
    expect(policy("{ policy-attributes: [] }").errors).toHaveLength(1);
    expect(policy("{}").errors).toHaveLength(1);
  });

  it("reads its time", () => {
    const time =
      '{ days-of-week: "mon, Tuesday", start: 0830, end: "17:00", activate: 2026-03-01, deactivate: 2226-03-01T08:00Z }';
    const { config, errors } = policy(`{ ${hop}, time: ${time} }`);
    expect(errors).toEqual([]);
    expect(config?.["local-policies"][0]?.time).toEqual({
      "days-of-week": ["mon", "tue"],
      start: 510,
      end: 1020,
      activate: new Date(2026, 2, 1).getTime(),
      deactivate: Date.UTC(2226, 2, 1, 8),
    });
  });

  it.each([
    "{ start: 24:01 }",
    "{ end: noon }",
    "{ days-of-week: [someday] }",
    "{ days-of-week: monkey }",
    "{ activate: tomorrow }",
    "now",
    "{ from: 1 }",
  ])("refuses the time %s", (time) => {
    expect(policy(`{ ${hop}, time: ${time} }`).errors).toHaveLength(1);
  });

  it("refuses an address that could match nothing, and an unknown realm", () => {
    expect(policy(`{ ${hop}, to-address: ["two words"] }`).errors).toHaveLength(1);
    expect(policy(`{ ${hop}, to-address: [] }`).errors).toHaveLength(1);
    expect(policy(`{ ${hop}, source-realm: nowhere }`).errors).toEqual([
      'weir.yaml:3: local-policies[0].source-realm: found "nowhere", expected * or the realm default',
    ]);
  });
});

describe("realms", () => {
  const realms = `
realms:
  - { identifier: access, listen: ["udp://127.0.0.2:5060", "tcp://[::1]:5060"], allow: any }
  - { identifier: core, listen: ["udp://127.0.0.3:5060"], allow: agents }
`;
  const agents = (realm: string) => `session-agents: [{ hostname: a, ip-address: 127.0.0.1, port: 5071${realm} }]
local-policies: [{ policy-attributes: [{ next-hop: a }] }]`;

  it("say where to listen", () => {
    const config = valid(`${realms}${agents(", realm-id: core")}`);
    expect(config.signalling.listen).toEqual([
      { protocol: "udp", address: "127.0.0.2", port: 5060 },
      { protocol: "tcp", address: "::1", port: 5060 },
      { protocol: "udp", address: "127.0.0.3", port: 5060 },
    ]);
    expect(config.realms.map(({ identifier, allow }) => [identifier, allow])).toEqual([
      ["access", "any"],
      ["core", "agents"],
    ]);
  });

  it("may repeat signalling.listen, and a warning says when it is not used", () => {
    const one = 'realms: [{ identifier: access, listen: ["udp://127.0.0.2:5060"] }]\n';
    const listen = (address: string) => `signalling: { listen: ["udp://${address}"] }\n${one}${agents("")}`;
    expect(read(listen("127.0.0.2:5060")).warnings).toEqual([]);
    expect(read(listen("127.0.0.2:5061")).warnings).toEqual([
      "weir.yaml:1: warning: signalling.listen: not used, as the realms say where to listen",
    ]);
  });

  it("must be there for an agent that names one, and be named where there are several", () => {
    expect(read(`${realms}${agents(", realm-id: cor")}`).errors).toEqual([
      'weir.yaml:4: session-agents[0].realm-id: found "cor", expected the realm access or core; did you mean "core"?',
    ]);
    expect(read(`${realms}${agents("")}`).errors).toEqual([
      "weir.yaml:4: session-agents[0].realm-id: found nothing, expected the realm access or core",
    ]);
  });

  it("are the agent's where there is only one", () => {
    const one = 'realms: [{ identifier: access, listen: ["udp://127.0.0.2:5060"] }]\n';
    expect(valid(`${one}${agents("")}`)["session-agents"][0]?.["realm-id"]).toBe("access");
  });

  it("have a name, addresses, and neither in common", () => {
    const several = (list: string) =>
      read(`realms: [${list}]\n${agents("")}`).errors.filter((line) => !line.includes("realm-id"));
    const listen = 'listen: ["udp://127.0.0.2:5060"]';
    expect(several(`{ identifier: x, ${listen} }, { identifier: y, ${listen} }`)).toHaveLength(1);
    expect(several(`{ identifier: x, ${listen} }, { identifier: x, listen: ["udp://127.0.0.2:0"] }`)).toHaveLength(1);
    expect(several("{ identifier: x }")).toHaveLength(1);
    const twice = '{ identifier: x, listen: ["udp://127.0.0.2:5060", "udp://127.0.0.2:5060"] }';
    expect(several(twice)).toEqual(["weir.yaml:1: realms[0].listen: found udp://127.0.0.2:5060 a second time"]);
    expect(several("{ identifier: x, listen: [] }")).toHaveLength(1);
    expect(several(`{ ${listen} }`)).toHaveLength(1);
    expect(several(`{ identifier: x, ${listen}, allow: some }`)).toHaveLength(1);
  });
});

describe("a listening address", () => {
  const listen = (text: string) => read(`signalling: { listen: ${text} }\n${base.trimStart()}`);

  it("may leave the port to the system, as often as wanted", () => {
    expect(listen('["udp://127.0.0.1:0", "udp://127.0.0.1:0"]').errors).toEqual([]);
  });

  it.each([
    "[127.0.0.1:5060]",
    '["udp://localhost:5060"]',
    '["udp://::1:5060"]',
    '["udp://127.0.0.1:70000"]',
    '["sctp://127.0.0.1:5060"]',
  ])("is refused as %s", (text) => {
    expect(listen(text).errors).toHaveLength(1);
  });

  it("stands once, and there is at least one", () => {
    expect(listen('["udp://127.0.0.1:5060", "udp://127.0.0.1:5060"]').errors).toHaveLength(1);
    expect(listen("[]").errors).toHaveLength(1);
  });
});

describe("the environment", () => {
  it("overrides the file", () => {
    const environment = {
      WEIR_SIGNALLING_ENGINE: "drachtio",
      WEIR_SIGNALLING_DRACHTIO_PORT: "9023",
      WEIR_LOGGING_LEVEL: "",
    };
    const { signalling, logging } = valid(`${base}signalling: { drachtio: { port: 1, host: h } }`, environment);
    expect(signalling.engine).toBe("drachtio");
    expect(signalling.drachtio).toEqual({ host: "h", port: 9023, secret: "cymru" });
    expect(logging.level).toBe("info");
    expect(valid(base, { WEIR_ADMIN_LISTEN: "[::1]:0" }).admin.listen).toEqual({ address: "::1", port: 0 });
    expect(
      valid(base, { WEIR_SIGNALLING_LISTEN: "udp://127.0.0.1:1,tcp://127.0.0.1:1" }).realms[0]?.listen,
    ).toHaveLength(2);
    expect(valid(base, { WEIR_FAILOVER_RECURSE_CODES: "503" }).failover["recurse-codes"]).toEqual([
      { from: 503, to: 503 },
    ]);
  });

  it("is checked like the file", () => {
    expect(read(base, { WEIR_DRAIN_TIMEOUT: "30s", WEIR_LOGGING_LEVEL: "loud" }).errors).toEqual([
      'WEIR_DRAIN_TIMEOUT: found "30s", expected a whole number 0 to 86400',
      'WEIR_LOGGING_LEVEL: found "loud", expected trace, debug, info, warn, error, fatal or silent',
    ]);
  });

  it("is warned of where it means nothing, save what others set", () => {
    const environment = { WEIR_LOGING_LEVEL: "debug", WEIR_X: "1", WEIR_PORT_5060_UDP: "udp://10.0.0.1:5060" };
    expect(read(base, environment).warnings).toEqual([
      'WEIR_LOGING_LEVEL: warning: unknown variable, not used; did you mean "WEIR_LOGGING_LEVEL"?',
      "WEIR_X: warning: unknown variable, not used",
    ]);
  });
});

describe("settings that contradict each other", () => {
  it("are errors", () => {
    expect(read(`${base}retry-after: { min: 9, max: 3 }`).errors).toEqual([
      "weir.yaml:6: retry-after.min: found 9, expected no more than max, which is 3",
    ]);
    expect(read(`${base}signalling: { timers: { t1: 5000 } }`).errors).toHaveLength(1);
  });
});

describe("local-response-map", () => {
  const mapped = (lines: string) => `${base}local-response-map:\n${lines}`;

  it("takes a status, a phrase and a cause for each name, and leaves the rest alone", () => {
    const config = valid(
      mapped('  no-route: { status: 480, reason: "Not Here", q850-cause: 3 }\n  unknown-source: { status: 0 }\n'),
    );
    expect(config["local-response-map"]).toEqual({
      "no-route": { status: 480, reason: "Not Here", "q850-cause": 3 },
      "unknown-source": { status: 0 },
    });
    expect(valid(base)["local-response-map"]).toEqual({});
  });

  it("tells what it cannot mean", () => {
    const text = mapped(
      '  no-rout: {}\n  no-route: { status: 0 }\n  loop: { status: 180, reason: "a\\r\\nb", q850-caus: 3 }\n  draining: 503\n',
    );
    expect(read(text).errors.map((line) => line.replace(/^weir.yaml:\d+: /, ""))).toEqual([
      'local-response-map.no-rout: unknown key; did you mean "no-route"?',
      "local-response-map.no-route.status: found 0, expected 400 to 699",
      'local-response-map.loop.q850-caus: unknown key; did you mean "q850-cause"?',
      "local-response-map.loop.status: found 180, expected 400 to 699",
      'local-response-map.loop.reason: found "a\\r\\nb", expected printable ASCII',
      "local-response-map.draining: found 503, expected a map",
    ]);
  });
});

describe("a ping", () => {
  const pinged = (params: string) =>
    read(base.replace("hostname: carrier-a", `hostname: carrier-a, ${params}`)).errors.map((line) =>
      line.replace(/^weir.yaml:\d+: /, ""),
    );

  it("may use any method that stands alone, with hops", () => {
    expect(
      pinged('ping-method: "OPTIONS;hops=1", ping-interval: 5, ping-from-user-part: weir, ping-to-user-part: "a%20b"'),
    ).toEqual([]);
  });

  it("must not use others, nor user parts that no URI can hold", () => {
    expect(
      pinged('ping-method: CANCEL, ping-interval: 5, ping-from-user-part: "a b", ping-to-user-part: "x>"'),
    ).toEqual([
      'session-agents[0].ping-method: found "CANCEL", expected a SIP method, with ;hops=N where wanted, such as OPTIONS;hops=0',
      'session-agents[0].ping-from-user-part: found "a b", expected the user part of a SIP URI',
      'session-agents[0].ping-to-user-part: found "x>", expected the user part of a SIP URI',
    ]);
    expect(pinged('ping-method: "OPTIONS;hop=1", ping-interval: 5')).toHaveLength(1);
  });
});
