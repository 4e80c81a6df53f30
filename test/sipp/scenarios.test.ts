import { expect, it } from "vitest";
import { freePort, Loopback } from "../support/loopback.ts";
import { describeWithSipp, Sipp, type SippOptions } from "../support/sipp.ts";

interface Pair {
  readonly uac: string;
  readonly uas: string;
  /** Options of both sides. */
  readonly options?: Partial<SippOptions>;
  readonly caller?: Partial<SippOptions>;
  readonly agent?: Partial<SippOptions>;
}

const pairs: readonly Pair[] = [
  { uac: "uac-register", uas: "uas-registrar" },
  { uac: "uac-answer-and-bye", uas: "uas-answer-and-bye" },
  { uac: "uac-answer-and-bye", uas: "uas-answer-and-bye", options: { transport: "tcp" } },
  { uac: "uac-wait-for-bye", uas: "uas-send-bye" },
  { uac: "uac-crossing-bye", uas: "uas-crossing-bye" },
  { uac: "uac-cancel-at-once", uas: "uas-cancelled-at-once" },
  { uac: "uac-cancel-after-180", uas: "uas-ring-until-cancelled" },
  { uac: "uac-cancel-after-180", uas: "uas-cancelled-before-180" },
  { uac: "uac-cancel-after-100", uas: "uas-100-then-silent" },
  { uac: "uac-cancel-crossing-200", uas: "uas-cancel-crossing-200" },
  { uac: "uac-cancel-crossing-200", uas: "uas-ring-until-cancelled" },
  { uac: "uac-lost-200", uas: "uas-answer-and-bye", caller: { retransmissions: false } },
  { uac: "uac-lost-ack", uas: "uas-answer-and-bye", caller: { retransmissions: false } },
  { uac: "uac-answer-and-bye", uas: "uas-lost-ack", caller: { holdMs: 300 }, agent: { retransmissions: false } },
  ...[408, 480, 486, 500, 503, 603].map((code) => ({
    uac: "uac-refused",
    uas: `uas-reject-${code}`,
    options: { keys: { code } },
  })),
  { uac: "uac-refused", uas: "uas-183-then-503", options: { keys: { code: 503 } } },
  { uac: "uac-early-media-then-refused", uas: "uas-early-media-then-503" },
  { uac: "uac-answer-and-bye", uas: "uas-late-200" },
  { uac: "uac-reinvite", uas: "uas-reinvited" },
  { uac: "uac-reinvite-refused", uas: "uas-refuse-reinvite" },
  { uac: "uac-reinvited", uas: "uas-reinvite" },
  { uac: "uac-refuse-reinvite", uas: "uas-reinvite-refused" },
  { uac: "uac-glare", uas: "uas-glare" },
  { uac: "uac-late-offer", uas: "uas-late-offer" },
  { uac: "uac-prack", uas: "uas-prack" },
  { uac: "uac-update-before-answer", uas: "uas-update-before-answer" },
  { uac: "uac-refer", uas: "uas-refer" },
  { uac: "uac-info-message-options", uas: "uas-info-message-options" },
  { uac: "uac-max-forwards-1", uas: "uas-max-forwards", options: { keys: { hops: 1 } } },
];

describeWithSipp("the scenarios against each other, with no Weir between", () => {
  const loopback = new Loopback();

  it.concurrent.each(pairs)("$uac with $uas", async ({ uac, uas, options, ...own }) => {
    const agent = { address: loopback.address(11), port: await freePort(loopback.address(11)) };
    const caller = { address: loopback.address(31), port: await freePort(loopback.address(31)) };
    const answering = await Sipp.start(uas, { ...options, ...own.agent, local: agent });
    const calling = await Sipp.start(uac, { ...options, ...own.caller, local: caller, remote: agent });
    await Promise.all([calling.succeeded(), answering.succeeded()]);
  });

  it.each([
    ["uac-refused", { code: 486 }],
    ["uas-max-forwards", { hops: 5 }],
  ])("%s fails when it is told to expect something else", async (scenario, keys) => {
    const agent = { address: loopback.address(12), port: await freePort(loopback.address(12)) };
    const caller = { address: loopback.address(32), port: await freePort(loopback.address(32)) };
    const isCaller = scenario.startsWith("uac");
    const answering = await Sipp.start(isCaller ? "uas-reject-480" : scenario, { local: agent, keys });
    const calling = await Sipp.start(isCaller ? scenario : "uac-max-forwards-1", {
      local: caller,
      remote: agent,
      keys,
    });
    const [called, answered] = await Promise.all([calling.finished(), answering.finished()]);
    expect(isCaller ? called.exitCode : answered.exitCode).toBe(1);
  });
});
