import { afterAll, beforeAll, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { Holder } from "../support/held-call.ts";
import { answeringAgent, type RawUa } from "../support/raw-ua.ts";
import { describeWithSipp, Sipp } from "../support/sipp.ts";
import { Weir } from "../support/weir.ts";

const N = 3;
/** Session attempts a second, and seconds: N of a burst rate is their product. */
const RATE = 1;
const WINDOW = 4;

describeWithSipp("a limit", () => {
  let weir: Weir;
  const agents: RawUa[] = [];

  beforeAll(async () => {
    weir = await Weir.start({
      agents: {
        "out-limited": { "max-outbound-sessions": N },
        "in-limited": { "max-inbound-sessions": N },
        limited: { "max-sessions": N },
        "rate-limited": { "max-burst-rate": RATE, "burst-rate-window": WINDOW },
        "ten-at-most": { "max-outbound-sessions": 10 },
        unlimited: {},
      },
      routes: {
        "100": ["out-limited"],
        "110": ["limited"],
        "120": ["rate-limited"],
        "130": ["ten-at-most"],
        "140": ["unlimited"],
      },
      // A second of refusals keeps the tests short and is still a number to be told.
      more: { "retry-after": { min: 1, max: 2 } },
    });
    for (const hostname of ["out-limited", "rate-limited", "unlimited"]) {
      agents.push(await answeringAgent(weir.agent(hostname)));
    }
  });
  afterAll(async () => {
    for (const agent of agents) agent.close();
    await weir?.stop();
  });

  /** Calls until N are held: shows I at N - 1, C at N, refuses N + 1, and has room again after one BYE. */
  async function holds(
    hostname: string,
    number: string,
    caller: Holder,
    direction: "inbound" | "outbound",
  ): Promise<void> {
    for (let held = 1; held < N; held++) expect((await caller.call(number)).status).toBe(200);
    await weir.sessions(hostname, direction, N - 1);
    expect((await weir.view(hostname)).state.letter).toBe("I");

    expect((await caller.call(number)).status).toBe(200);
    await weir.sessions(hostname, direction, N);
    expect((await weir.view(hostname)).state.letter).toBe("C");

    const refused = await caller.call(number);
    expect(refused.status).toBe(503);
    expect(refused.header("Retry-After")).toMatch(/^[12]\b/);
    await weir.sessions(hostname, direction, N);

    expect((await caller.hangUp())?.status).toBe(200);
    await weir.sessions(hostname, direction, N - 1);
    expect((await weir.view(hostname)).state.letter).toBe("I");
    expect((await caller.call(number)).status).toBe(200);
  }

  it("of max-outbound-sessions holds at N - 1, N and N + 1", async () => {
    const caller = await Holder.at(weir);
    await holds("out-limited", "100", caller, "outbound");
    const local = await weir.caller();
    const refused = await Sipp.start("uac-refused-retry-after", { local, remote: weir.listen, service: "100" });
    await refused.succeeded();
    expect((await weir.view("out-limited")).exceeded).toMatchObject({ "max-outbound-sessions": 2 });
    await caller.close();
    await weir.idle();
  });

  it("of max-inbound-sessions holds at N - 1, N and N + 1", async () => {
    const caller = await Holder.at(weir, "in-limited");
    await holds("in-limited", "140", caller, "inbound");
    await caller.close();
    await weir.idle();
  });

  it("of max-sessions counts both directions and holds at N - 1, N and N + 1", async () => {
    // The agent answers and calls from one and the same place.
    const agent = await Holder.at(weir, "limited");
    const caller = await Holder.at(weir);
    expect((await caller.call("110")).status).toBe(200);
    expect((await agent.call("140")).status).toBe(200);
    await weir.sessions("limited", "total", N - 1);
    expect((await weir.view("limited")).state.letter).toBe("I");

    expect((await caller.call("110")).status).toBe(200);
    await weir.sessions("limited", "total", N);
    expect((await weir.view("limited")).state.letter).toBe("C");
    expect((await caller.call("110")).status).toBe(503);
    expect((await agent.call("140")).status).toBe(503);

    await agent.hangUp();
    await weir.sessions("limited", "total", N - 1);
    expect((await caller.call("110")).status).toBe(200);
    await caller.close();
    await agent.close();
    await weir.idle();
  });

  it("of max-burst-rate holds at N - 1, N and N + 1 in one window, and has room in the next", async () => {
    const caller = await Holder.at(weir);
    const letter = async () => (await weir.view("rate-limited")).state.letter;
    // Filled up once; when it next has room, a window has just begun.
    while ((await caller.call("120")).status === 200);
    expect(await letter()).toBe("C");
    await eventually("room in the next window", async () => (await letter()) === "I");

    const burst = RATE * WINDOW;
    for (let attempt = 1; attempt < burst; attempt++) expect((await caller.call("120")).status).toBe(200);
    expect(await letter()).toBe("I");
    expect((await caller.call("120")).status).toBe(200);
    expect(await letter()).toBe("C");
    const refused = await caller.call("120");
    expect(refused.status).toBe(503);
    expect(refused.header("Retry-After")).toMatch(/^[12]\b/);
    await caller.close();
    await weir.idle();
  });

  it("lets ten of forty calls through that arrive together", async () => {
    const agent = await Sipp.start("uas-answer-and-bye", { local: weir.agent("ten-at-most"), calls: 10 });
    const local = await weir.caller();
    const options = { local, remote: weir.listen, service: "130", calls: 40, rate: 400, holdMs: 2_000 };
    const caller = await Sipp.run("uac-answer-and-bye", options);
    await agent.succeeded();
    expect(caller.received.filter((line) => line.startsWith("SIP/2.0 503"))).toHaveLength(30);
    await weir.idle();
  });
});
