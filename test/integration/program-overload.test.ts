import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { onDrachtio } from "../support/external-engine.ts";
import { Holder } from "../support/held-call.ts";
import { answeringAgent, type RawUa } from "../support/raw-ua.ts";
import { Weir } from "../support/weir.ts";

describe("a process without rest", () => {
  let weir: Weir;
  let agent: RawUa;

  beforeAll(async () => {
    // Calls by forties keep it busier than this.
    weir = await Weir.start({
      agents: { carrier: {} },
      routes: { "100": ["carrier"] },
      more: { overload: { "load-limit": 5 } },
    });
    agent = await answeringAgent(weir.agent("carrier"));
  });
  afterAll(async () => {
    agent.close();
    await weir?.stop();
  });

  it("refuses some of the new calls, keeps those that are up, and takes all again when it has rest", async ({
    skip,
  }) => {
    skip(onDrachtio, "most of the work is drachtio-server's, and leaves Weir rest");
    const held = await Holder.at(weir);
    expect((await held.call("100")).status).toBe(200);

    const caller = await Holder.at(weir);
    const statuses = new Map<number, number>();
    let refusal = "";
    const deadline = Date.now() + 25_000;
    while ((statuses.get(503) ?? 0) < 10 && Date.now() < deadline) {
      const finals = await Promise.all(Array.from({ length: 40 }, () => caller.call("100")));
      for (const final of finals) {
        statuses.set(final.status, (statuses.get(final.status) ?? 0) + 1);
        if (final.status === 503) refusal = final.header("Retry-After");
      }
      await Promise.all(finals.map(() => caller.hangUp()));
    }
    expect([...statuses.keys()].sort()).toEqual([200, 503]);
    expect(statuses.get(503)).toBeGreaterThanOrEqual(10);
    expect(Number(refusal)).toBeGreaterThan(0);
    expect((await weir.view("carrier")).state.letter).toBe("I");
    expect(weir.log).toContain("overloaded: new calls are refused");

    await expect.poll(() => weir.log, { timeout: 20_000 }).toContain("no longer overloaded");
    expect((await caller.call("100")).status).toBe(200);
    await caller.close();
    expect((await held.hangUp())?.status).toBe(200);
    await held.close();
    await weir.idle();
  });
});
