import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentWatch } from "../support/agent-watch.ts";
import { eventually } from "../support/eventually.ts";
import { Holder } from "../support/held-call.ts";
import type { Endpoint } from "../support/loopback.ts";
import { describeWithSipp, Sipp } from "../support/sipp.ts";
import { Trunk } from "../support/trunk.ts";
import { Weir } from "../support/weir.ts";

/** Per second. Three times as much is offered. */
const rate = 10;
const sustainWindow = 2;
const seconds = 7;

const agents = {
  "max-burst-rate": { "max-burst-rate": rate },
  "max-outbound-burst-rate": { "max-outbound-burst-rate": rate },
  "max-inbound-burst-rate": { "max-inbound-burst-rate": rate },
  "max-sustain-rate": { "max-sustain-rate": rate, "sustain-rate-window": sustainWindow },
  "max-outbound-sustain-rate": { "max-outbound-sustain-rate": rate, "sustain-rate-window": sustainWindow },
  "max-inbound-sustain-rate": { "max-inbound-sustain-rate": rate, "sustain-rate-window": sustainWindow },
  "max-register-sustain-rate": { "max-register-sustain-rate": rate, "sustain-rate-window": sustainWindow },
  "min-asr": { "min-asr": 50, "min-seizures": 4, "sustain-rate-window": 3_600, "time-to-resume": 1 },
  unanswered: { "min-asr": 1, "min-seizures": 3, "sustain-rate-window": 3_600, "time-to-resume": 60 },
  exempted: { constraints: "disabled", "max-outbound-sessions": 1 },
  // One in 100 s.
  methods: {
    "max-register-burst-rate": 0.01,
    "register-burst-window": 100,
    "rate-constraints": [{ method: "OPTIONS", "max-inbound-burst-rate": 0.01 }],
    "burst-rate-window": 100,
  },
  unlimited: {},
};
type Name = keyof typeof agents;

const numbers = Object.fromEntries(Object.keys(agents).map((name, at) => [name, String(100 + at)])) as Record<
  Name,
  string
>;

/** How many of the moments lie in each whole window, when windows begin at `phase`; the first and the last are not whole. */
function perWindow(times: readonly number[], windowMs: number, phase: number): number[] {
  const windowOf = (at: number) => Math.floor((at - phase) / windowMs);
  const first = windowOf(times[0] ?? 0);
  const counts = new Array<number>(windowOf(times.at(-1) ?? 0) - first + 1).fill(0);
  for (const at of times) counts[windowOf(at) - first] = (counts[windowOf(at) - first] ?? 0) + 1;
  return counts;
}

/** Counts by the windows of the sustained rate, the first of which begins at 0. */
class SustainWindows {
  readonly #windowMs = sustainWindow * 1_000;
  #previous = 0;
  #current = 0;
  #window = 0;

  /** By how many the attempts, one at this moment included, are more than the rule of the sustained rate allows. */
  excess(at: number): number {
    const window = Math.floor(at / this.#windowMs);
    if (window !== this.#window) {
      this.#previous = window === this.#window + 1 ? this.#current : 0;
      this.#current = 0;
      this.#window = window;
    }
    return this.#previous + this.#current + 1 - (rate / 1_000) * (this.#windowMs + (at % this.#windowMs));
  }

  count(): void {
    this.#current++;
  }
}

/** What the rule of the sustained rate lets through of what is offered at these moments. */
function sustained(offered: readonly number[]): number {
  const windows = new SustainWindows();
  const admitted = offered.filter((at) => {
    const isAdmitted = windows.excess(at) <= 0;
    if (isAdmitted) windows.count();
    return isAdmitted;
  });
  return admitted.length;
}

/** The most by which what came at these moments was above that rule. */
function above(times: readonly number[]): number {
  const windows = new SustainWindows();
  const excess = times.map((at) => {
    const found = windows.excess(at);
    windows.count();
    return found;
  });
  return Math.max(...excess);
}

/** Moments since the first window began, for each of a hundred phases that it may have had at the moment `start`. */
const inPhases = (times: readonly number[], start: number): number[][] =>
  phases.map((phase) => times.map((at) => at - start + phase * sustainWindow * 1_000));

/** Three times the rate, since the first. */
const evenly = Array.from({ length: 3 * rate * seconds }, (_, at) => (at * 1_000) / (3 * rate));

const phases = Array.from({ length: 100 }, (_, at) => at / 100);

describeWithSipp("a rate", () => {
  let weir: Weir;
  const trunks = new Map<string, Trunk>();

  beforeAll(async () => {
    const routes = Object.entries(numbers).map(([name, number]) => [number, [name]]);
    weir = await Weir.start({ agents, routes: Object.fromEntries(routes) });
    // Calls that come from an agent come from where it listens, so that nobody else can.
    for (const name of (Object.keys(agents) as Name[]).filter((each) => !each.startsWith("max-inbound"))) {
      trunks.set(name, await Trunk.at(weir.agent(name)));
    }
  });
  afterAll(async () => {
    await weir?.idle();
    for (const trunk of trunks.values()) trunk.close();
    await weir?.stop();
  });

  function trunk(name: Name): Trunk {
    const found = trunks.get(name);
    if (!found) throw new Error(`nobody is at ${name}`);
    return found;
  }

  /** Offers three times the rate; gives the moments at which calls reached the agent that is called. */
  async function offer(called: Name, local: Endpoint): Promise<number[]> {
    const caller = await Sipp.run("uac-answer-and-bye", {
      local,
      remote: weir.listen,
      service: numbers[called],
      calls: 3 * rate * seconds,
      rate: 3 * rate,
    });
    const refused = caller.messages.filter((message) => message.startsWith("SIP/2.0 503"));
    expect(refused.length).toBeGreaterThan(rate * seconds);
    expect(refused.every((message) => /^Retry-After: \d+/m.test(message))).toBe(true);
    expect(caller.received.filter((line) => /^SIP\/2.0 [3-6]/.test(line) && !line.includes(" 503 "))).toEqual([]);
    return trunk(called)
      .requests.filter(({ method, message }) => method === "INVITE" && message.header("From").includes("caller"))
      .map(({ at }) => at);
  }

  /** The one that is called, and where the calls come from. */
  const sides = async (limit: Name): Promise<[called: Name, local: Endpoint]> =>
    limit.startsWith("max-inbound") ? ["unlimited", weir.agent(limit)] : [limit, await weir.caller()];

  describe.concurrent("while three times as much is offered", () => {
    it.each(["max-burst-rate", "max-outbound-burst-rate"] as const)(
      "of %s is never exceeded in any window, and is used",
      async (limit) => burst(await offer(...(await sides(limit)))),
    );

    it.each(["max-sustain-rate", "max-outbound-sustain-rate"] as const)(
      "of %s lets through what its average allows, and that is all",
      async (limit) => averaged(await offer(...(await sides(limit)))),
    );

    it("of max-register-sustain-rate lets through what its average allows, and that is all", async () => {
      const name = "max-register-sustain-rate";
      const phone = await Trunk.at(await weir.caller());
      const start = performance.now();
      const offered: number[] = [];
      for (const after of evenly) {
        await sleep(start + after - performance.now());
        offered.push(performance.now());
        phone.ask("REGISTER", weir.listen, numbers[name]);
      }
      await eventually("an answer to each REGISTER", () => phone.heard("REGISTER").length === offered.length);
      const statuses = phone.heard("REGISTER");
      phone.close();
      const times = trunk(name).times("REGISTER");
      averaged(times, offered);
      // Once the first window is over, any two windows take together what the rate allows them, wherever they begin.
      const twoWindows = times.map(
        (from) => times.filter((at) => at >= from && at < from + 2_000 * sustainWindow).length,
      );
      const steady = twoWindows.filter((_, which) => (times[which] ?? 0) >= start + 1_000 * sustainWindow);
      expect(Math.max(...steady)).toBeGreaterThanOrEqual(0.97 * rate * 2 * sustainWindow);
      // One or two may come late, after the window that they were admitted in.
      expect(Math.min(...inPhases(times, start).map(above))).toBeLessThanOrEqual(2);
      expect([...new Set(statuses)].sort()).toEqual([200, 503]);
      expect(statuses.filter((status) => status === 200)).toHaveLength(times.length);
    });
  });

  // One after the other: what they send on goes to the same agent.
  it("of max-inbound-burst-rate is never exceeded in any window, and is used", async () => {
    burst(await offer(...(await sides("max-inbound-burst-rate"))));
  });

  it("of max-inbound-sustain-rate lets through what its average allows, and that is all", async () => {
    const before = trunk("unlimited").requests.length;
    const times = await offer(...(await sides("max-inbound-sustain-rate")));
    averaged(times.filter((at) => at >= (trunk("unlimited").requests[before]?.at ?? 0)));
  });

  function burst(times: readonly number[]): void {
    const fitting = phases
      .map((phase) => perWindow(times, 1_000, phase * 1_000))
      .filter((counts) => Math.max(...counts) <= rate);
    // For some alignment of the windows, as the agent's own is not known here.
    expect(fitting.length).toBeGreaterThan(0);
    const delivered = Math.max(
      ...fitting.map((counts) => counts.slice(1, -1).reduce((sum, count) => sum + count, 0) / (counts.length - 2)),
    );
    expect(delivered).toBeGreaterThanOrEqual(0.97 * rate);
  }

  function averaged(times: readonly number[], offered: readonly number[] = evenly): void {
    const lawful = inPhases(offered, offered[0] ?? 0).map(sustained);
    expect(times.length).toBeGreaterThanOrEqual(Math.floor(0.97 * Math.min(...lawful)));
    expect(times.length).toBeLessThanOrEqual(Math.max(...lawful) + 1);
  }
});

describeWithSipp("a limit that is no count of sessions", () => {
  let weir: Weir;
  let caller: Holder;
  const trunks = new Map<string, Trunk>();

  beforeAll(async () => {
    const routes = Object.entries(numbers).map(([name, number]) => [number, [name]]);
    weir = await Weir.start({ agents, routes: Object.fromEntries(routes) });
    for (const name of ["min-asr", "unanswered", "exempted", "methods"] as const) {
      trunks.set(name, await Trunk.at(weir.agent(name)));
    }
    caller = await Holder.at(weir);
  });
  afterAll(async () => {
    await caller?.close();
    await weir?.idle();
    for (const trunk of trunks.values()) trunk.close();
    await weir?.stop();
  });

  async function call(name: Name): Promise<number> {
    const { status } = await caller.call(numbers[name]);
    await caller.hangUp();
    return status;
  }

  it("of min-asr holds once the ratio is below it, and lets go after time-to-resume", async () => {
    const trunk = trunks.get("min-asr");
    const statuses: number[] = [];
    for (let answered = 0; answered < 4; answered++) statuses.push(await call("min-asr"));
    if (trunk) trunk.answers.INVITE = 486;
    // 4 of 8 is 50 %, 4 of 9 is less.
    for (let rejected = 0; rejected < 6; rejected++) statuses.push(await call("min-asr"));
    expect(statuses).toEqual([200, 200, 200, 200, 486, 486, 486, 486, 486, 503]);
    const agent = new AgentWatch(weir, "min-asr");
    expect(await agent.detail()).toMatchObject({ state: { letter: "C" }, reason: "min-asr" });
    await agent.shows("I");
    expect(await call("min-asr")).toBe(486);
  });

  it("of min-asr without a single answer holds after min-seizures and one more", async () => {
    const trunk = trunks.get("unanswered");
    if (trunk) trunk.answers.INVITE = 486;
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 5; attempt++) statuses.push(await call("unanswered"));
    expect(statuses).toEqual([486, 486, 486, 486, 503]);
  });

  it("of REGISTER, and of a method in rate-constraints, refuses that method and leaves calls alone", async () => {
    const trunk = trunks.get("methods");
    for (const method of ["REGISTER", "REGISTER", "OPTIONS", "OPTIONS"]) {
      const heard = trunk?.heard(method).length ?? 0;
      trunk?.ask(method, weir.listen, "no-one");
      await eventually(`an answer to ${method}`, () => (trunk?.heard(method).length ?? 0) > heard);
    }
    // The first is admitted, and leads nowhere.
    expect(trunk?.heard("REGISTER")).toEqual([404, 503]);
    expect(trunk?.heard("OPTIONS")).toEqual([200, 503]);
    expect(await call("methods")).toBe(200);
    const { exceeded, state } = await new AgentWatch(weir, "methods").detail();
    expect(state.letter).toBe("I");
    expect(exceeded).toEqual({ "max-register-burst-rate": 1, "rate-constraints.OPTIONS.max-inbound-burst-rate": 1 });
  });

  it("refuses nobody while the constraints of its agent are disabled, and counts on", async () => {
    expect((await caller.call(numbers.exempted)).status).toBe(200);
    expect((await caller.call(numbers.exempted)).status).toBe(200);
    expect(await new AgentWatch(weir, "exempted").detail()).toMatchObject({
      state: { letter: "I" },
      sessions: { outbound: { active: 2 } },
    });
  });
});
