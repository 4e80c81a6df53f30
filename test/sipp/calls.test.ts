import { afterAll, beforeAll, expect, it } from "vitest";
import { callThrough } from "../support/call-through.ts";
import { onDrachtio } from "../support/external-engine.ts";
import { freePort } from "../support/loopback.ts";
import { describeWithSipp, Sipp } from "../support/sipp.ts";
import { Weir } from "../support/weir.ts";

describeWithSipp("a call", () => {
  let weir: Weir;

  beforeAll(async () => {
    weir = await Weir.start({
      agents: { carrier: {}, "tcp-carrier": { "transport-method": "TCP" }, "ipv6-carrier": { "ip-address": "::1" } },
      routes: { "100": ["carrier"], "200": ["tcp-carrier"], "300": ["ipv6-carrier"] },
      ipv6: true,
    });
  });
  afterAll(() => weir?.stop());

  it("is answered and hung up on by the caller", async () => {
    const { caller } = await callThrough(weir, {
      number: "100",
      caller: "uac-answer-and-bye",
      agents: { carrier: "uas-answer-and-bye" },
    });
    expect(caller?.received).toContain("SIP/2.0 180 Ringing");
  });

  it("is answered and hung up on by the agent", async () => {
    await callThrough(weir, { number: "100", caller: "uac-wait-for-bye", agents: { carrier: "uas-send-bye" } });
  });

  it("is hung up on together with its ACK, forty times", async () => {
    await callThrough(weir, {
      number: "100",
      caller: ["uac-answer-and-bye", { calls: 40, rate: 80 }],
      agents: { carrier: ["uas-answer-and-bye", { calls: 40 }] },
    });
  });

  it("is hung up on by both sides at once", async () => {
    await callThrough(weir, { number: "100", caller: "uac-crossing-bye", agents: { carrier: "uas-crossing-bye" } });
  });

  it("is counted while it lasts", async () => {
    const agent = await Sipp.start("uas-answer-and-bye", { local: weir.agent("carrier") });
    const local = await weir.caller();
    const caller = await Sipp.start("uac-answer-and-bye", {
      local,
      remote: weir.listen,
      service: "100",
      holdMs: 1_500,
    });
    await weir.sessions("carrier", "outbound", 1);
    expect((await weir.view("carrier")).sessions).toMatchObject({ inbound: { active: 0 }, total: { active: 1 } });
    expect(await weir.calls()).toHaveLength(1);
    await Promise.all([caller.succeeded(), agent.succeeded()]);
    await weir.idle();
  });

  it("to a number that no policy matches is refused with 404", async () => {
    await callThrough(weir, { number: "999", caller: ["uac-refused", { keys: { code: 404 } }], agents: {} });
  });

  it.each([
    ["UDP", "TCP", "200", "tcp-carrier"],
    ["TCP", "UDP", "100", "carrier"],
    ["TCP", "TCP", "200", "tcp-carrier"],
  ])("comes over %s and leaves over %s", async (incoming, outgoing, number, hostname) => {
    for (const [caller, agent] of [
      ["uac-answer-and-bye", "uas-answer-and-bye"],
      ["uac-wait-for-bye", "uas-send-bye"],
    ] as const) {
      await callThrough(weir, {
        number,
        caller: [caller, { calls: 3, transport: incoming === "TCP" ? "tcp" : "udp" }],
        agents: { [hostname]: [agent, { calls: 3, transport: outgoing === "TCP" ? "tcp" : "udp" }] },
      });
    }
  });

  it("comes over IPv6 and leaves over IPv4", async () => {
    const local = { address: "::1", port: await freePort("::1") };
    for (const transport of ["udp", "tcp"] as const) {
      await callThrough(weir, {
        number: "100",
        caller: ["uac-wait-for-bye", { local, remote: weir.listen6, transport }],
        agents: { carrier: "uas-send-bye" },
      });
    }
  });

  it("comes over IPv4 and leaves over IPv6", async ({ skip }) => {
    skip(onDrachtio, "a drachtio-server that listens on both sends from IPv4 only");
    await callThrough(weir, { number: "300", caller: "uac-wait-for-bye", agents: { "ipv6-carrier": "uas-send-bye" } });
  });

  it("without a hop left is refused with 483", async () => {
    await callThrough(weir, { number: "100", caller: "uac-max-forwards-0", agents: {} });
  });

  it("with one hop left reaches the agent with none", async () => {
    await callThrough(weir, {
      number: "100",
      caller: "uac-max-forwards-1",
      agents: { carrier: ["uas-max-forwards", { keys: { hops: 0 } }] },
    });
  });
});

describeWithSipp("a call cancelled by the caller", () => {
  let weir: Weir;

  beforeAll(async () => {
    weir = await Weir.start({ agents: { carrier: {} }, routes: { "100": ["carrier"] } });
  });
  afterAll(() => weir?.stop());

  it("before its 100 ends with 487, and the agent hears of it as often as it heard of the call", async ({ skip }) => {
    skip(onDrachtio, "drachtio-server's 100 is there before SIPp has sent the CANCEL");
    const agent = await Sipp.start("uas-ring-until-cancelled", { local: weir.agent("carrier") });
    const local = await weir.caller();
    const caller = await Sipp.start("uac-cancel-at-once", { local, remote: weir.listen, service: "100" });
    await caller.succeeded();
    await weir.idle();
    const { received } = await agent.stop();
    const methods = received.map((line) => line.split(" ")[0]);
    expect([[], ["INVITE", "CANCEL", "ACK"]]).toContainEqual(methods);
  });

  it("before the agent said anything ends with 487 at once, and the agent's CANCEL waits for its 180", async () => {
    await callThrough(weir, {
      number: "100",
      caller: "uac-cancel-after-100",
      agents: { carrier: "uas-cancelled-before-180" },
    });
  });

  it("while it rings ends with 487 on both sides", async () => {
    await callThrough(weir, {
      number: "100",
      caller: "uac-cancel-after-180",
      agents: { carrier: "uas-ring-until-cancelled" },
    });
  });

  it("while the agent answers is hung up on at the agent", async () => {
    await callThrough(weir, {
      number: "100",
      caller: "uac-cancel-crossing-200",
      agents: { carrier: "uas-cancel-crossing-200" },
    });
  });
});
