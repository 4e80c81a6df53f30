import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { onDrachtio } from "../support/external-engine.ts";
import { Holder } from "../support/held-call.ts";
import { freePort, Loopback } from "../support/loopback.ts";
import { RawUa } from "../support/raw-ua.ts";
import { RawCall } from "../support/sip-text.ts";
import { Trunk } from "../support/trunk.ts";
import { Weir } from "../support/weir.ts";

const elsewhere = new Loopback();
const denied = elsewhere.address(66);
const kept = (metric: string) => `weir_engine_sources_${metric}_total`;

describe.each(["same", "worker"] as const)("sources, with the engine in thread %s", (thread) => {
  let weir: Weir;
  let carrier: Trunk;
  const open: RawUa[] = [];

  beforeAll(async () => {
    weir = await Weir.start({
      agents: { carrier: {} },
      routes: { "100": ["carrier"] },
      thread,
      more: {
        sources: { "deny-from": [`${denied}/32`], "max-source-rate": 2, "source-rate-window": 3 },
      },
    });
    carrier = await Trunk.at(weir.agent("carrier"));
    // An engine in another thread tells its counters once a second.
    await eventually("the metrics", () =>
      weir.metric(kept("denied")).then(
        () => true,
        () => false,
      ),
    );
  });
  afterEach(() => {
    for (const ua of open.splice(0)) ua.close();
    return weir.idle();
  });
  afterAll(async () => {
    carrier?.close();
    await weir?.stop();
  });

  async function from(address: string): Promise<RawUa> {
    const ua = await RawUa.open({ address, port: await freePort(address) });
    open.push(ua);
    return ua;
  }

  /** Sends a request outside any dialog, which nobody is called by. */
  function ask(ua: RawUa, { method = "OPTIONS", more = "" } = {}): void {
    const text = new RawCall(ua.local, weir.listen, "100").invite().replaceAll("INVITE", method);
    ua.send(more === "" ? text : text.replace("Max-Forwards", `${more}\r\nMax-Forwards`), weir.listen);
  }

  const statuses = (ua: RawUa) => ua.received.map(({ message }) => message.status);

  it("of deny-from are refused with 403 before anything is made of their requests", async () => {
    const before = carrier.count("INVITE");
    const ua = await from(denied);
    const call = new RawCall(ua.local, weir.listen, "100");
    ua.send(call.invite(), weir.listen);
    expect((await ua.final(call.callId)).status).toBe(403);
    expect(carrier.count("INVITE")).toBe(before);
    await eventually("the refusal counted", async () => (await weir.metric(kept("denied"))) === 1);
    expect(await weir.metric("weir_calls_received_total")).toBe(0);
  });

  it("with the User-Agent of a scanner hear nothing at all", async ({ skip }) => {
    skip(onDrachtio, "drachtio-server has to be told an answer");
    const ua = await from(elsewhere.address(67));
    ask(ua, { more: "User-Agent: friendly-scanner" });
    ask(ua, { method: "REGISTER", more: "User-Agent: SIPVicious" });
    await eventually("both counted", async () => (await weir.metric(kept("scanners"))) === 2);
    expect(ua.received).toEqual([]);
  });

  it("that flood are refused with 503 and Retry-After above their rate, while others are served", async () => {
    const flood = await from(elsewhere.address(68));
    for (let count = 0; count < 40; count++) ask(flood, { method: "REGISTER" });
    await eventually("forty answers", () => flood.received.length >= 40);
    const refused = flood.received.filter(({ message }) => message.status === 503);
    // At most two windows have been touched.
    expect(refused.length).toBeGreaterThanOrEqual(28);
    expect(Number(refused[0]?.message.header("Retry-After"))).toBeGreaterThan(0);
    expect(statuses(flood).filter((status) => status !== 503).length).toBeGreaterThanOrEqual(6);
    const caller = await Holder.at(weir);
    expect((await caller.call("100")).status).toBe(200);
    await caller.close();
    await eventually("all counted", async () => (await weir.metric(kept("too_many"))) === refused.length);
  });

  it("that are agents have limits of their own, and no rate as a source", async () => {
    const since = performance.now();
    for (let count = 0; count < 30; count++) carrier.ask("OPTIONS", weir.listen);
    await eventually("thirty answers", () => carrier.heard("OPTIONS").length >= 30);
    expect(carrier.heard("OPTIONS").filter((status) => status === 503)).toEqual([]);
    expect(carrier.count("OPTIONS", since)).toBe(0);
  });
});
