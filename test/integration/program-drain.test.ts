import { afterEach, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { Holder } from "../support/held-call.ts";
import { answeringAgent, type RawUa } from "../support/raw-ua.ts";
import { Weir } from "../support/weir.ts";

describe("the program told to end", () => {
  let weir: Weir;
  let agent: RawUa;
  let caller: Holder;

  async function start(drainTimeoutS: number, thread: "same" | "worker" = "same"): Promise<void> {
    weir = await Weir.start({
      thread,
      agents: { carrier: {} },
      routes: { "100": ["carrier"] },
      more: { drain: { timeout: drainTimeoutS } },
    });
    agent = await answeringAgent(weir.agent("carrier"));
    caller = await Holder.at(weir);
  }

  const methodsAtAgent = () => agent.received.map(({ message }) => message.method);

  afterEach(async () => {
    agent?.close();
    await weir?.stop();
  });

  it.each(["SIGTERM", "SIGINT"] as const)("by %s without calls exits with 0", async (signal) => {
    await start(30);
    weir.signal(signal);
    expect(await weir.exited()).toBe(0);
    expect(methodsAtAgent()).toEqual([]);
  });

  it("by SIGTERM refuses new calls, keeps the one in progress until its BYE, and exits with 0", async () => {
    await start(60);
    expect((await caller.call("100")).status).toBe(200);
    weir.signal("SIGTERM");
    const refused = await eventually("a refusal of new calls", async () => {
      const final = await caller.call("100");
      return final.status === 503 && final;
    });
    expect(refused.header("Retry-After")).toMatch(/^\d+/);
    expect(weir.running).toBe(true);
    await caller.close();
    expect(await weir.exited()).toBe(0);
    expect(methodsAtAgent().at(-1)).toBe("BYE");
  });

  it("ends at once with its engine in a worker thread, however long transactions linger", async () => {
    await start(60, "worker");
    expect((await caller.call("100")).status).toBe(200);
    await caller.close();
    weir.signal("SIGTERM");
    expect(await weir.exited()).toBe(0);
    expect(weir.log).not.toMatch(/out of reach/);
  });

  it("by SIGTERM hangs up at both sides what is still up at the deadline, and exits with 0", async () => {
    await start(1);
    expect((await caller.call("100")).status).toBe(200);
    weir.signal("SIGTERM");
    expect(await weir.exited()).toBe(0);
    expect(methodsAtAgent()).toContain("BYE");
    expect(caller.requests.map(({ method }) => method)).toEqual(["BYE"]);
  });

  it("by a second SIGTERM, after a moment, hangs up at once instead of waiting for the deadline", async () => {
    await start(600);
    expect((await caller.call("100")).status).toBe(200);
    await eventually("the end of the program", () => {
      if (weir.running) weir.signal("SIGTERM");
      return !weir.running;
    });
    expect(await weir.exited()).toBe(0);
    expect(methodsAtAgent()).toContain("BYE");
    expect(caller.requests.map(({ method }) => method)).toEqual(["BYE"]);
    expect(weir.log).toContain("asked again, not waiting for calls");
  });
});
