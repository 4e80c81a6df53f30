import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { onDrachtio } from "../support/external-engine.ts";
import { Holder } from "../support/held-call.ts";
import { answeringAgent, RawUa } from "../support/raw-ua.ts";
import { responseTo } from "../support/sip-text.ts";
import { describeWithSipp } from "../support/sipp.ts";
import { Weir } from "../support/weir.ts";

const t1 = 50;
const timerBMs = 64 * t1;
const firstResponseMs = 600;
const ringMs = 1_000;

/** How long an answer may take on a busy machine. */
const slackMs = 1_500;

type Reaction = (status: (code: number, reason: string) => void) => void;

const silent: Reaction = () => undefined;

/** What the first agent does, and the time after which the next one has the call. */
const causes: Readonly<
  Record<string, { readonly does?: Reaction; readonly afterMs: number; readonly group?: object }>
> = {
  "503": { does: (status) => status(503, "Service Unavailable"), afterMs: 0 },
  "408": { does: (status) => status(408, "Request Timeout"), afterMs: 0 },
  silence: { does: silent, afterMs: firstResponseMs, group: { "first-response-timeout": firstResponseMs / 1_000 } },
  "timer-b": { does: silent, afterMs: timerBMs, group: { "first-response-timeout": 0 } },
  rings: { does: (status) => status(180, "Ringing"), afterMs: ringMs, group: { "ring-timeout": ringMs / 1_000 } },
  "closed-port": { afterMs: 0 },
  "refused-tcp": { afterMs: 0 },
};

describeWithSipp("failover takes", () => {
  let weir: Weir;
  let next: RawUa;
  const agents: RawUa[] = [];
  const names = Object.keys(causes);
  const numberOf = (cause: string) => `5${names.indexOf(cause)}`;

  beforeAll(async () => {
    weir = await Weir.start({
      agents: {
        ...Object.fromEntries(names.map((name) => [name, name === "refused-tcp" ? { "transport-method": "TCP" } : {}])),
        next: {},
      },
      routes: Object.fromEntries(names.map((name) => [numberOf(name), [name, "next"]])),
      groups: Object.fromEntries(names.map((name) => [numberOf(name), { ...causes[name]?.group }])),
      t1,
    });
    for (const [name, { does }] of Object.entries(causes)) {
      if (!does) continue;
      const local = weir.agent(name);
      const react = ({ message, from }: Parameters<NonNullable<Parameters<typeof RawUa.open>[1]>>[0], self: RawUa) => {
        const answer = (code: number, reason: string) => self.send(responseTo(message, code, reason, local), from);
        if (message.method === "INVITE") does(answer);
        if (message.method === "CANCEL") answer(200, "OK");
      };
      agents.push(await RawUa.open(local, react));
    }
  });
  afterAll(async () => {
    for (const agent of agents) agent.close();
    await weir?.stop();
  });

  beforeEach(async () => {
    next = await answeringAgent(weir.agent("next"));
  });
  afterEach(() => next.close());

  it.for(Object.entries(causes))("after %s its own time", async ([cause, { afterMs }], { skip }) => {
    skip(onDrachtio && cause === "silence", "without 100 of drachtio-server there is no first-response-timeout");
    const holder = await Holder.at(weir);
    const begun = performance.now();
    expect((await holder.call(numberOf(cause))).status).toBe(200);
    const took = performance.now() - begun;
    expect(took).toBeGreaterThanOrEqual(afterMs - 50);
    expect(took).toBeLessThan(afterMs + slackMs);
    await holder.close();
    await weir.idle(30_000);
  });

  it("and leaves no transaction and no timer of a dead attempt behind", async () => {
    expect(await weir.metric("weir_defects_total")).toBe(0);
    expect(await weir.metric("weir_calls_active")).toBe(0);
    // An engine of its own shows what is alive in it; the last transactions linger for timers D, I and K.
    if (weir.engine) return;
    for (const alive of ["clients", "servers", "dialogs"]) {
      const gone = async () => (await weir.metric(`weir_engine_alive_${alive}`)) === 0;
      await eventually(`no ${alive} alive`, gone, { patienceMs: 40_000 });
    }
  }, 60_000);
});
