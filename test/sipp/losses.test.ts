import { afterAll, beforeAll, expect, it } from "vitest";
import { callThrough } from "../support/call-through.ts";
import { onDrachtio } from "../support/external-engine.ts";
import { describeWithSipp } from "../support/sipp.ts";
import { Weir } from "../support/weir.ts";

describeWithSipp("a call on a network that loses messages", () => {
  let weir: Weir;

  beforeAll(async () => {
    // 64 * T1, after which a missing ACK ends the call, is then 6.4 s.
    weir = await Weir.start({
      // The one that does not answer its BYE is sent it again while the next test runs.
      agents: { carrier: {}, mute: {} },
      routes: { "100": ["carrier"], "200": ["mute"] },
      t1: 100,
    });
  });
  afterAll(() => weir?.stop());

  it("sends its 200 again when the first is lost", async () => {
    await callThrough(weir, {
      number: "100",
      caller: ["uac-lost-200", { retransmissions: false }],
      agents: { carrier: "uas-answer-and-bye" },
    });
  });

  it("sends its 200 again when the caller's ACK is lost", async () => {
    await callThrough(weir, {
      number: "100",
      caller: ["uac-lost-ack", { retransmissions: false }],
      agents: { carrier: "uas-answer-and-bye" },
    });
  });

  it("acknowledges again when the ACK to the agent is lost", async () => {
    await callThrough(weir, {
      number: "100",
      caller: ["uac-answer-and-bye", { holdMs: 500 }],
      agents: { carrier: ["uas-lost-ack", { retransmissions: false }] },
    });
  });

  it("costs nothing when the agent does not answer the BYE", async () => {
    await callThrough(weir, { number: "200", caller: "uac-answer-and-bye", agents: { mute: "uas-silent-to-bye" } });
  });

  it("is hung up on at both sides when the caller's ACK never comes", async () => {
    // drachtio-server counts 32 s whatever T1 is.
    const patience = onDrachtio ? { receiveTimeoutMs: 45_000, timeoutS: 60 } : {};
    const { caller } = await callThrough(weir, {
      number: "100",
      caller: ["uac-never-ack", patience],
      agents: { carrier: ["uas-answer-and-bye", patience] },
    });
    const answers = caller?.received.filter((line) => line === "SIP/2.0 200 OK") ?? [];
    // At T1, 2 T1, 4 T1, … capped at T2 (4 s), until 64 T1: 0.1, 0.3, 0.7, 1.5, 3.1 and 6.3 s.
    expect(answers.length).toBeGreaterThanOrEqual(6);
  }, 75_000);
});
