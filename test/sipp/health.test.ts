import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentWatch } from "../support/agent-watch.ts";
import { faultsOf } from "../support/audit.ts";
import { eventually } from "../support/eventually.ts";
import { Holder } from "../support/held-call.ts";
import { describeWithSipp, Sipp } from "../support/sipp.ts";
import { Trunk } from "../support/trunk.ts";
import { Weir } from "../support/weir.ts";

/** Never by timer, so that what brings an agent back is what the test says. */
const never = { "time-to-resume": 0 };
const ping = { "ping-method": "OPTIONS" };
const keepAlive = { ...ping, "ping-send-mode": "keep-alive" };
const continuous = { ...ping, "ping-send-mode": "continuous" };

const agents = {
  silent: { ...continuous, ...never, "ping-interval": 0.5, "ping-timeout": 0.3 },
  counted: {
    ...continuous,
    ...never,
    "ping-interval": 0.3,
    "ping-timeout": 0.2,
    "ping-failure-threshold": 3,
    "ping-success-threshold": 2,
  },
  "closed-to-pings": { ...continuous, ...never, "ping-interval": 0.3 },
  "quiet-called": { ...keepAlive, "ping-interval": 1 },
  "quiet-asking": { ...keepAlive, "ping-interval": 1 },
  "pinged-anyway": { ...continuous, "ping-interval": 0.5 },
  named: {
    ...continuous,
    "ping-method": "INFO;hops=3",
    "ping-interval": 0.3,
    "ping-from-user-part": "weir",
    "ping-to-user-part": "ping",
  },
  "downstream-continuous": {
    ...continuous,
    ...never,
    "ping-interval": 0.4,
    "out-service-response-codes": "503",
    "ping-out-service-response-codes": "503",
  },
  "downstream-keep-alive": { ...keepAlive, ...never, "ping-interval": 60, "out-service-response-codes": "503" },
  "bad-ping-continuous": {
    ...continuous,
    ...never,
    "ping-interval": 0.3,
    "ping-out-service-response-codes": "500-599",
    "ping-in-service-response-codes": "503",
  },
  "bad-ping-keep-alive": {
    ...keepAlive,
    ...never,
    "ping-interval": 0.3,
    "out-service-response-codes": "503",
    "ping-out-service-response-codes": "404",
  },
  "any-answer": { ...continuous, ...never, "ping-interval": 0.3 },
  "two-timeouts": { "trans-timeouts": 2, "time-to-resume": 3_600 },
  "no-timeouts": { "trans-timeouts": 0, "out-service-response-codes": "408,503" },
  resuming: { "time-to-resume": 1 },
  "resuming-from-silence": { "time-to-resume": 3_600, "ttr-no-response": 0.5, "out-service-response-codes": "503" },
  standing: { "time-to-resume": 0.5, "in-service-period": 1 },
  "standing-pinged": {
    ...continuous,
    ...never,
    "ping-interval": 0.4,
    "ping-timeout": 0.2,
    "in-service-period": 30,
  },
  "no-such-host.invalid": { ...continuous, ...never, "ping-interval": 0.3, "ip-address": "" },
  disabled: { ...continuous, "ping-interval": 0.3, state: "disabled" },
  draining: { ...continuous, "ping-interval": 0.3, state: "draining" },
  "killed-resuming": { "time-to-resume": 1 },
  "killed-pinged": { ...continuous, ...never, "ping-interval": 0.4 },
  spare: {},
};
type Name = keyof typeof agents;

/** Nobody listens there until a test opens it. */
const closed: readonly Name[] = [
  "closed-to-pings",
  "resuming",
  "resuming-from-silence",
  "standing",
  "no-such-host.invalid",
];

/** Each agent alone at a number of its own, and groups with a spare where calls are to move. */
const numbers = Object.fromEntries(Object.keys(agents).map((name, at) => [name, String(100 + at)])) as Record<
  Name,
  string
>;
const groups = { "300": ["killed-resuming", "spare"], "310": ["killed-pinged", "spare"], "320": ["silent", "spare"] };

describeWithSipp("an agent's health", () => {
  let weir: Weir;
  const trunks = new Map<Name, Trunk>();

  beforeAll(async () => {
    const alone = Object.entries(numbers).map(([name, number]) => [number, [name]]);
    weir = await Weir.launch(
      {
        agents,
        routes: { ...Object.fromEntries(alone), ...groups },
        // Timers B and F run out after 1.28 s.
        t1: 20,
      },
      (engine) => engine.start(),
    );
    // Before the first ping.
    for (const name of (Object.keys(agents) as Name[]).filter((each) => !closed.includes(each))) {
      trunks.set(name, await Trunk.at(weir.agent(name)));
    }
    await weir.ready();
  });
  afterAll(async () => {
    await weir?.idle();
    for (const trunk of trunks.values()) trunk.close();
    await weir?.stop();
  });

  const watch = (name: Name) => new AgentWatch(weir, name);

  /** The agent of this name, from now on with these answers. */
  async function trunkAt(name: Name, answers: Readonly<Record<string, number>> = {}): Promise<Trunk> {
    const trunk = trunks.get(name) ?? (await Trunk.at(weir.agent(name)));
    trunks.set(name, trunk);
    Object.assign(trunk.answers, answers);
    return trunk;
  }

  /** The final status of one call, hung up on at once if it was answered. */
  async function callTo(number: string): Promise<number> {
    const holder = await Holder.at(weir);
    const { status } = await holder.call(number);
    await holder.close();
    return status;
  }

  describe.concurrent("by pings", () => {
    it("is out when one is not answered within ping-timeout, gets no calls, is pinged on, and is back when one is answered", async () => {
      const trunk = await trunkAt("silent");
      const agent = watch("silent");
      await eventually("the first ping answered", async () => (await agent.detail()).lastPing?.status === 200);
      expect(await callTo("320")).toBe(200);
      trunk.answers.OPTIONS = 0;
      const out = await agent.shows("O");
      expect(out).toMatchObject({ reason: "ping-timeout", resumeAt: null, lastPing: { failure: "timeout" } });
      const calls = trunk.count("INVITE");
      expect(await callTo("320")).toBe(200);
      expect(trunk.count("INVITE")).toBe(calls);
      const since = performance.now();
      await eventually("three more pings while it is out", () => trunk.count("OPTIONS", since) >= 3);
      // At the interval, and no slower: three of them are two intervals and their jitter apart.
      expect((trunk.times("OPTIONS", since)[2] ?? 0) - since).toBeLessThan(2_500);
      trunk.answers.OPTIONS = 200;
      expect(await agent.shows("I")).toMatchObject({ reason: "ping-answered" });
      expect(await callTo("320")).toBe(200);
      expect(trunk.count("INVITE")).toBe(calls + 1);
    });

    it("follows ping-failure-threshold and ping-success-threshold", async () => {
      const trunk = await trunkAt("counted");
      const agent = watch("counted");
      await eventually("a ping answered", async () => (await agent.detail()).lastPing?.status === 200);
      trunk.answers.OPTIONS = 0;
      const silentFrom = performance.now();
      await agent.shows("O");
      expect(trunk.count("OPTIONS", silentFrom)).toBeGreaterThanOrEqual(3);
      trunk.answers.OPTIONS = 200;
      const answeringFrom = performance.now();
      await agent.shows("I");
      expect(trunk.count("OPTIONS", answeringFrom)).toBeGreaterThanOrEqual(2);
      expect(await agent.path()).toEqual(["I O ping-timeout", "O I ping-answered"]);
    });

    it("is out at once when its port is closed", async () => {
      const agent = watch("closed-to-pings");
      expect(await agent.shows("O")).toMatchObject({ reason: "ping-transport-failure" });
      await trunkAt("closed-to-pings");
      await agent.shows("I");
    });

    it("is not pinged in keep-alive mode while calls or requests of its own go by, and is in silence", async () => {
      const called = await trunkAt("quiet-called");
      const asking = await trunkAt("quiet-asking");
      // The first interval may have passed in silence.
      for (const until = performance.now() + 3_500; performance.now() < until; ) {
        expect(await callTo(numbers["quiet-called"])).toBe(200);
        asking.ask("OPTIONS", weir.listen);
        await pause(150);
      }
      const quietFrom = performance.now();
      expect(called.times("OPTIONS").filter((at) => at > quietFrom - 2_400)).toEqual([]);
      expect(asking.times("OPTIONS").filter((at) => at > quietFrom - 2_400)).toEqual([]);
      expect(new Set(asking.heard("OPTIONS"))).toEqual(new Set([200]));
      for (const trunk of [called, asking]) {
        await eventually("two pings in silence", () => trunk.count("OPTIONS", quietFrom) >= 2);
        expect((trunk.times("OPTIONS", quietFrom)[0] ?? 0) - quietFrom).toBeGreaterThan(700);
      }
    });

    it("is pinged in continuous mode whatever the traffic", async () => {
      const trunk = await trunkAt("pinged-anyway");
      const from = performance.now();
      for (const until = from + 3_000; performance.now() < until; ) {
        expect(await callTo(numbers["pinged-anyway"])).toBe(200);
        await pause(100);
      }
      const pings = trunk.count("OPTIONS", from);
      expect(pings).toBeGreaterThanOrEqual(4);
      expect(pings).toBeLessThanOrEqual(8);
    });

    it("is pinged by the method, hops and user parts that it is configured with", async () => {
      const trunk = await trunkAt("named");
      const { message } = await eventually("a ping", () => trunk.requests.find(({ method }) => method === "INFO"));
      const { address, port } = trunk.local;
      expect(message.requestUri).toBe(`sip:ping@${address}:${port}`);
      expect(message.header("To")).toBe(`<sip:ping@${address}:${port}>`);
      expect(message.header("From")).toMatch(new RegExp(`^<sip:weir@${weir.listen.address}(:\\d+)?>;tag=.`));
      expect(message.header("Max-Forwards")).toBe("3");
      expect(faultsOf(message.text, [])).toEqual([]);
    });

    it("is judged in continuous mode by ping-out-service-response-codes, save those of ping-in-service-response-codes", async () => {
      const trunk = await trunkAt("bad-ping-continuous", { OPTIONS: 404 });
      const agent = watch("bad-ping-continuous");
      await eventually("a ping answered with 404", async () => (await agent.detail()).lastPing?.status === 404);
      expect(await agent.letter()).toBe("I");
      trunk.answers.OPTIONS = 500;
      expect(await agent.shows("O")).toMatchObject({ reason: "ping-response", lastPing: { status: 500 } });
      trunk.answers.OPTIONS = 503;
      expect(await agent.shows("I")).toMatchObject({ reason: "ping-answered", lastPing: { status: 503 } });
    });

    it("is judged in keep-alive mode by out-service-response-codes", async () => {
      const trunk = await trunkAt("bad-ping-keep-alive", { OPTIONS: 404 });
      const agent = watch("bad-ping-keep-alive");
      await eventually("a ping answered with 404", async () => (await agent.detail()).lastPing?.status === 404);
      expect(await agent.letter()).toBe("I");
      trunk.answers.OPTIONS = 503;
      expect(await agent.shows("O")).toMatchObject({ reason: "ping-response" });
      trunk.answers.OPTIONS = 200;
      await agent.shows("I");
    });

    it("lives, as far as empty lists of codes are concerned, whatever it answers", async () => {
      const agent = watch("any-answer");
      for (const status of [483, 500, 503, 603]) {
        await trunkAt("any-answer", { OPTIONS: status });
        await eventually(
          `a ping answered with ${status}`,
          async () => (await agent.detail()).lastPing?.status === status,
        );
      }
      expect(await agent.path()).toEqual([]);
    });

    it("is out when its name resolves to nothing", async () => {
      expect(await watch("no-such-host.invalid").shows("O", 25_000)).toMatchObject({ reason: "name-failure" });
    });

    it("passes standby, where one failure is enough to go out again", async () => {
      const trunk = await trunkAt("standing-pinged", { OPTIONS: 0 });
      const agent = watch("standing-pinged");
      await agent.shows("O");
      trunk.answers.OPTIONS = 200;
      await agent.shows("S");
      expect(await callTo(numbers["standing-pinged"])).toBe(503);
      trunk.answers.OPTIONS = 0;
      await agent.shows("O");
      expect(await agent.path()).toEqual(["I O ping-timeout", "O S ping-answered", "S O ping-timeout"]);
    });

    it("is not pinged while disabled, and is while draining; either shows D and gets no call", async () => {
      const disabled = await trunkAt("disabled");
      const draining = await trunkAt("draining");
      await eventually("two pings of the draining one", () => draining.count("OPTIONS") >= 2);
      expect(disabled.requests).toEqual([]);
      for (const name of ["disabled", "draining"] as const) {
        expect(await watch(name).detail()).toMatchObject({ state: { letter: "D" }, reason: name });
        expect(await callTo(numbers[name])).toBe(503);
      }
    });
  });

  describe.concurrent("by calls", () => {
    it("survives in continuous mode the 503 of a device further downstream, though both lists name it", async () => {
      const trunk = await trunkAt("downstream-continuous", { INVITE: 503 });
      for (let call = 0; call < 4; call++) expect(await callTo(numbers["downstream-continuous"])).toBe(503);
      await eventually("a ping after the calls", () => trunk.count("OPTIONS") >= 2);
      expect(await watch("downstream-continuous").path()).toEqual([]);
      expect(trunk.count("INVITE")).toBe(4);
    });

    it("is out in keep-alive mode by a 503 on the list", async () => {
      const trunk = await trunkAt("downstream-keep-alive", { INVITE: 503 });
      expect(await callTo(numbers["downstream-keep-alive"])).toBe(503);
      const out = await watch("downstream-keep-alive").shows("O");
      expect(out.transitions).toMatchObject([{ from: "I", to: "O", reason: "response", status: 503 }]);
      expect(await callTo(numbers["downstream-keep-alive"])).toBe(503);
      expect(trunk.count("INVITE")).toBe(1);
    });

    it("is out by trans-timeouts in a row; any answer between them starts the count anew", async () => {
      const trunk = await trunkAt("two-timeouts", { INVITE: 0 });
      const agent = watch("two-timeouts");
      const number = numbers["two-timeouts"];
      expect(await callTo(number)).toBe(408);
      expect(await agent.letter()).toBe("I");
      trunk.answers.INVITE = 486;
      expect(await callTo(number)).toBe(486);
      trunk.answers.INVITE = 0;
      expect(await callTo(number)).toBe(408);
      expect(await agent.letter()).toBe("I");
      expect(await callTo(number)).toBe(408);
      expect(await agent.shows("O")).toMatchObject({ reason: "timeout" });
    });

    it("is never out with trans-timeouts 0: what our own stack makes up is on no list of codes", async () => {
      const trunk = await trunkAt("no-timeouts", { INVITE: 0 });
      const agent = watch("no-timeouts");
      expect(await callTo(numbers["no-timeouts"])).toBe(408);
      trunk.close();
      expect(await callTo(numbers["no-timeouts"])).toBe(503);
      expect(await agent.path()).toEqual([]);
      await trunk.open();
      trunk.answers.INVITE = 408;
      expect(await callTo(numbers["no-timeouts"])).toBe(408);
      expect(await agent.shows("O")).toMatchObject({ reason: "response" });
    });

    it("is out at once at a closed port and back after time-to-resume", async () => {
      const agent = watch("resuming");
      expect(await callTo(numbers.resuming)).toBe(503);
      const out = await agent.shows("O");
      expect(out.reason).toBe("transport-failure");
      await trunkAt("resuming");
      const back = await agent.shows("I");
      expect(back.reason).toBe("time-to-resume");
      const [wentOut, cameBack] = back.transitions.map(({ at }) => Date.parse(at));
      expect((cameBack ?? 0) - (wentOut ?? 0)).toBeGreaterThanOrEqual(995);
      expect((cameBack ?? 0) - (wentOut ?? 0)).toBeLessThan(2_000);
      expect(await callTo(numbers.resuming)).toBe(200);
    });

    it("is back after ttr-no-response where the cause was transport, and waits for time-to-resume where it was a code", async () => {
      const agent = watch("resuming-from-silence");
      expect(await callTo(numbers["resuming-from-silence"])).toBe(503);
      await trunkAt("resuming-from-silence", { INVITE: 503 });
      await eventually("its return", async () => (await agent.path()).length === 2);
      expect(await callTo(numbers["resuming-from-silence"])).toBe(503);
      const out = await agent.shows("O");
      expect(out.reason).toBe("response");
      expect(Date.parse(out.resumeAt ?? "") - Date.parse(out.since)).toBeGreaterThan(3_500_000);
    });

    it("sits out in-service-period on standby, without calls", async () => {
      const agent = watch("standing");
      expect(await callTo(numbers.standing)).toBe(503);
      await trunkAt("standing");
      await agent.shows("S");
      expect(await callTo(numbers.standing)).toBe(503);
      await agent.shows("I");
      expect(await agent.path()).toEqual(["I O transport-failure", "O S time-to-resume", "S I in-service-period"]);
      expect(await callTo(numbers.standing)).toBe(200);
    });

    it.each([
      ["killed-resuming", "300", "time-to-resume"],
      ["killed-pinged", "310", "ping-answered"],
    ] as const)(
      "of %s, killed under load, moves every call to the next agent until it is back",
      async (name, number, reason) => {
        const trunk = await trunkAt(name);
        const agent = watch(name);
        const options = { local: await weir.caller(), remote: weir.listen, service: number, calls: 160, rate: 30 };
        const load = await Sipp.start("uac-answer-and-bye", options);
        await eventually("calls at the first agent", () => trunk.count("INVITE") >= 20);
        trunk.close();
        await agent.shows("O");
        const before = trunk.count("INVITE");
        await trunk.open();
        expect(await agent.shows("I")).toMatchObject({ reason });
        await eventually("calls at the first agent again", () => trunk.count("INVITE") > before);
        // Not one was lost: who was being called when it died was called elsewhere.
        await load.succeeded();
      },
    );
  });

  describe("is seen", () => {
    it("as one log line for each transition, with its reason, and as series of every agent", async () => {
      const { agents: shown } = JSON.parse((await weir.get("/v1/agents")).text) as { agents: { hostname: string }[] };
      const lines = weir.log
        .split("\n")
        .filter(
          (line) =>
            line.includes('"agent out of service"') ||
            line.includes('"agent in service"') ||
            line.includes('"agent on standby"'),
        )
        .map((line) => JSON.parse(line) as { agent: string; from: string; state: string; reason: string });
      let transitions = 0;
      for (const { hostname } of shown) {
        const { transitions: path } = await new AgentWatch(weir, hostname).detail();
        const logged = lines.filter(({ agent }) => agent === hostname).slice(-path.length || lines.length);
        expect(logged.map(({ from, state, reason }) => [from, state, reason])).toEqual(
          path.map(({ from, to, reason }) => [from, to, reason]),
        );
        transitions += path.length;
      }
      expect(transitions).toBeGreaterThan(20);
      const { text } = await weir.get("/metrics");
      for (const name of Object.keys(agents)) expect(text).toContain(`weir_agent_state{agent="${name}",state="I"}`);
    });
  });
});
