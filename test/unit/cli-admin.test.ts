import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentEvents } from "../../src/agents/agent-events.ts";
import { AgentManager } from "../../src/agents/agent-manager.ts";
import type { CallSnapshot } from "../../src/calls/record.ts";
import { agents, detailOf } from "../../src/cli/agents.ts";
import { calls } from "../../src/cli/calls.ts";
import { explain, explanationText } from "../../src/cli/explain.ts";
import { measure, table } from "../../src/cli/table.ts";
import { loadConfig } from "../../src/config/load.ts";
import { AdminApi } from "../../src/operations/admin-api.ts";
import { type ExplainQuery, readExplainQuery } from "../../src/operations/explain-query.ts";
import { Metrics } from "../../src/operations/metrics.ts";
import { routedMethods } from "../../src/routing/routed-methods.ts";
import { Router } from "../../src/routing/router.ts";
import { ManualClock } from "../support/manual-clock.ts";

const yaml = `
session-agents:
  - { hostname: carrier-a, ip-address: 127.0.0.1, port: 5071, max-outbound-sessions: 2, max-burst-rate: 10 }
  - { hostname: carrier-b, out-service-response-codes: 503, ip-address: 127.0.0.1, port: 5072 }
  - { hostname: carrier-c, ip-address: 127.0.0.3, port: 5073, time-to-resume: 30 }
session-agent-groups: [{ group-name: carriers, dest: [carrier-a, carrier-b] }]
local-policies:
  - { policy-attributes: [{ next-hop: "SAG:carriers" }] }
  - { to-address: "44", methods: MESSAGE, policy-attributes: [{ next-hop: carrier-a }] }
`;

const up: CallSnapshot = {
  id: "1a",
  state: "confirmed",
  caller: {
    callId: "abc@192.0.2.1",
    from: "alice",
    to: "100",
    source: { protocol: "udp", address: "192.0.2.1", port: 5060 },
  },
  agent: { name: "carrier-a", callId: "x" },
  started: "2026-01-01T10:00:00.000Z",
  answered: "2026-01-01T10:00:02.000Z",
  expires: null,
  attempts: [{ agent: "carrier-a", callId: "x", outcome: "200" }],
  route: { policies: [], skipped: [] },
};

let folder = "";
let file = "";
let url = "";
let list: CallSnapshot[] = [];
let api: AdminApi;

beforeAll(async () => {
  const loaded = loadConfig(yaml, "weir.yaml", {});
  if (!("config" in loaded)) throw new Error("the test's configuration is not valid");
  const clock = new ManualClock();
  const manager = new AgentManager(loaded.config["session-agents"], {
    clock,
    random: () => 0,
    events: new AgentEvents(),
  });
  for (let count = 0; count < 3; count++) manager.get("carrier-a")?.admit({ direction: "outbound", method: "INVITE" });
  manager.get("carrier-a")?.observe({ kind: "response", purpose: "traffic", status: 180, sentAt: clock.now() - 20 });
  const failed = { kind: "transport-failure", purpose: "traffic", detail: "TLS: certificate has expired" } as const;
  manager.get("carrier-c")?.observe(failed);
  for (const status of [503, 200]) manager.get("carrier-b")?.observe({ kind: "response", purpose: "ping", status });
  const { "session-agent-groups": groups, "local-policies": policies, failover } = loaded.config;
  const router = new Router({ groups, policies, failover }, manager);
  const views = {
    agents: manager,
    groups: () => [],
    calls: () => list,
    registrations: () => [],
    surrogates: () => [],
    missing: () => [],
    explain: (query: ExplainQuery) => {
      const request = readExplainQuery(query, {
        realms: ["default"],
        now: clock.date(),
        methods: routedMethods,
        knows: (agent) => manager.get(agent) !== undefined,
      });
      return "error" in request ? request : router.explain(request, clock.date() - clock.now());
    },
  };
  api = new AdminApi(views, new Metrics([]));
  url = await api.start({ address: "127.0.0.1", port: 0 });
  folder = await mkdtemp(join(tmpdir(), "weir-cli-"));
  file = join(folder, "weir.yaml");
  await writeFile(file, `${yaml}admin: { listen: "0.0.0.0:${new URL(url).port}" }\n`);
});
afterAll(async () => {
  await api.stop();
  await rm(folder, { recursive: true });
});

describe("weir agents", () => {
  it("shows each agent with its letter, sessions and rates beside their limits, refusals and latency", async () => {
    const lines = (await agents(undefined, { admin: url })).split("\n");
    expect(lines).toHaveLength(4);
    const cells = (line = ""): string[] => line.trim().split(/ {2,}/);
    expect(cells(lines[0])).toEqual(
      ["AGENT", "ST", "IN", "IN/S", "IN-EXC", "OUT", "OUT/S", "OUT-EXC"].concat([
        "TOTAL",
        "TOTAL/S",
        "AVG MS",
        "MAX MS",
        "ASR %",
        "REASON",
      ]),
    );
    expect(cells(lines[1]).slice(0, 8)).toEqual(["carrier-a", "C", "0/-", "0/-", "0", "2/2", "2/-", "1"]);
    expect(cells(lines[1]).slice(8)).toEqual(["2/-", "2/10", "20", "20", "0", "max-outbound-sessions"]);
    expect(cells(lines[2])).toEqual([
      "carrier-b",
      "I",
      "0/-",
      "0/-",
      "0",
      "0/-",
      "0/-",
      "0",
      "0/-",
      "0/-",
      "-",
      "-",
      "-",
    ]);
    expect(cells(lines[3]).slice(-1)).toEqual(["transport-failure"]);
  });

  it("shows one agent in full, with its last transitions", async () => {
    const detail = await agents("carrier-a", { admin: url });
    expect(detail).toMatch(/^state +C constraint-violation$/m);
    expect(detail).toMatch(/^outbound sessions +2\/2$/m);
    expect(detail).toMatch(/^at a limit +max-outbound-sessions$/m);
    expect(detail).toMatch(/^exceeded +max-outbound-sessions 1$/m);
    expect(detail).toMatch(/^transitions +\S+ I > C max-outbound-sessions 2\/2$/m);
    const lost = await agents("carrier-c", { admin: url });
    expect(lost).toMatch(/^transitions +\S+ I > O transport-failure \(TLS: certificate has expired\)$/m);
    const refusing = await agents("carrier-b", { admin: url });
    expect(refusing).toMatch(/^transitions +\S+ I > O ping-response 503$/m);
    expect(refusing).toMatch(/^ +\S+ O > I ping-answered 200$/m);
  });

  it("shows where an agent's name leads, and whether the agent has registered us", () => {
    const loaded = loadConfig(yaml, "weir.yaml", {});
    if (!("config" in loaded)) throw new Error("the test's configuration is not valid");
    const manager = new AgentManager(loaded.config["session-agents"], {
      clock: new ManualClock(),
      random: () => 0,
      events: new AgentEvents(),
    });
    const snapshot = manager.get("carrier-a")?.snapshot();
    if (!snapshot) throw new Error("the agent is not there");
    expect(detailOf(snapshot)).not.toMatch(/^(found at|registered)/m);
    const good = { address: "192.0.2.1:5060", transport: "UDP", health: "in-service", reason: "start" } as const;
    const lost = { ...good, address: "192.0.2.2:5060", health: "out-of-service", reason: "timeout" } as const;
    const addresses = [
      { ...good, silent: true, resumeAt: null },
      { ...lost, silent: false, resumeAt: "2026-03-01T08:00:00.000Z" },
    ];
    const detail = detailOf({ ...snapshot, addresses, registered: false });
    expect(detail).toMatch(/^found at +192\.0\.2\.1:5060 UDP in-service, silent of late, tried last$/m);
    expect(detail).toMatch(/^ +192\.0\.2\.2:5060 UDP out-of-service, timeout, resumes 2026-03-01T08:00:00\.000Z$/m);
    expect(detail).toMatch(/^registered +no$/m);
  });

  it("finds the admin API by an address without a scheme, or by the configuration", async () => {
    expect(await agents(undefined, { admin: new URL(url).host })).toContain("carrier-b");
    expect(await agents(undefined, { config: file })).toContain("carrier-b");
  });

  it("fails in one line for an unknown agent, a silent address, a bad address and a bad configuration", async () => {
    await expect(agents("nobody", { admin: url })).rejects.toMatchObject({
      message: "there is no session agent nobody",
      exitCode: 1,
    });
    await expect(agents(undefined, { admin: "127.0.0.1:1" })).rejects.toMatchObject({ exitCode: 69 });
    await expect(agents(undefined, { admin: "http://" })).rejects.toMatchObject({ exitCode: 1 });
    await expect(agents(undefined, { config: join(folder, "none.yaml") })).rejects.toMatchObject({ exitCode: 78 });
    await writeFile(join(folder, "bad.yaml"), "sesion-agents: []\n");
    await expect(agents(undefined, { config: join(folder, "bad.yaml") })).rejects.toMatchObject({ exitCode: 78 });
  });
});

describe("weir explain", () => {
  it("shows the policies that match, who is skipped and why, and the candidates in order", async () => {
    const text = await explain({ admin: url, to: "4420", from: "sip:33@example.com", at: "2026-03-01T08:00:00Z" });
    expect(text).toContain("INVITE to 4420 from 33@example.com, realm default, at 2026-03-01T08:00:00.000Z");
    expect(text).toMatch(/^local-policies\[0\] +SAG:carriers +to-address \*, from-address \*, .*cost 0$/m);
    expect(text).toMatch(/^local-policies\[1\] +methods$/m);
    expect(text).toMatch(/^carrier-a +C: max-outbound-sessions 2\/2$/m);
    expect(text).toMatch(/^1 +carrier-b +carriers +local-policies\[0\] +4420 +33$/m);
    expect(text).toMatch(/^if all fail: the last one's response; /m);
  });

  it("says what the caller is told where there is no candidate", () => {
    const request = {
      method: "INVITE",
      from: "33",
      fromHost: "",
      to: "44",
      toHost: "",
      sourceRealm: "default",
      carrier: "",
    };
    const nothing = { policies: [], unfit: [], candidates: [], skipped: [], exhausted: "no-route" } as const;
    const text = explanationText({ request: { ...request, at: "2026-03-01T08:00:00.000Z" }, ...nothing });
    expect(text.split("\n").at(-1)).toBe("result: 404 No Routes Found (no-route)");
  });

  it("says that Weir answers itself what no policy names", async () => {
    const text = await explain({ admin: url, to: "44", method: "OPTIONS" });
    expect(text).toMatch(/^local-policies\[0\] +methods$/m);
    expect(text.split("\n").at(-1)).toBe("result: Weir's own answer, as no policy names OPTIONS");
  });

  it("moves no count", async () => {
    const before = await agents(undefined, { admin: url });
    await explain({ admin: url, to: "4420" });
    expect(await agents(undefined, { admin: url })).toBe(before);
  });

  it("fails in one line for a question that is none", async () => {
    await expect(explain({ admin: url, to: "44", realm: "core" })).rejects.toMatchObject({
      message: "there is no realm core, expected default",
      exitCode: 1,
    });
    await expect(explain({ admin: url, to: "44", agent: "nobody" })).rejects.toMatchObject({ exitCode: 1 });
    await expect(explain({ admin: url, to: "44", at: "noon" })).rejects.toMatchObject({ exitCode: 1 });
    await expect(explain({ admin: url, to: "44", method: "notify" })).rejects.toMatchObject({
      message:
        "NOTIFY is not routed by policies, expected INVITE, REGISTER, MESSAGE, PUBLISH, SUBSCRIBE, OPTIONS, REFER",
      exitCode: 1,
    });
  });
});

describe("weir calls", () => {
  it("shows each call with its state, parties, agent and age", async () => {
    list = [up];
    const lines = (await calls({ admin: url }, new Date("2026-01-01T11:02:03Z"))).split("\n");
    expect(lines[1]?.split(/ {2,}/)).toEqual([
      "1a",
      "confirmed",
      "alice",
      "100",
      "carrier-a",
      "1",
      "1:02:03",
      "abc@192.0.2.1",
    ]);
    expect(lines[2]).toBe("1 up");
  });

  it("says so when there is none", async () => {
    list = [];
    expect(await calls({ admin: url }, new Date())).toBe("no calls are up");
  });
});

describe("a table", () => {
  it("is as wide as its widest cells, with numbers to the right", () => {
    const rows = [
      ["a", "10"],
      ["long-name", "5"],
    ];
    expect(table(["NAME", "N"], rows)).toBe("NAME        N\na          10\nlong-name   5");
  });

  it("leaves an address where text begins", () => {
    const rows = [["192.0.2.1:5060", "0:00:01", "-", "3/-"]];
    expect(table(["NEXT HOP OR AGENT", "AGE IN ALL", "PING", "TOTAL"], rows)).toBe(
      "NEXT HOP OR AGENT  AGE IN ALL  PING  TOTAL\n192.0.2.1:5060        0:00:01     -    3/-",
    );
  });

  it("writes a measure with its limit, or a dash for none", () => {
    expect([measure(3, 10), measure(0.123, 0), measure(2, 0.5)]).toEqual(["3/10", "0.1/-", "2/0.5"]);
  });
});
