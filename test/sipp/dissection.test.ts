import { afterAll, beforeAll, expect, it } from "vitest";
import { callThrough } from "../support/call-through.ts";
import { dissect, tsharkInstalled } from "../support/dissect.ts";
import { describeWithSipp } from "../support/sipp.ts";
import { Weir } from "../support/weir.ts";

describeWithSipp("what goes over the wire", () => {
  let weir: Weir;

  beforeAll(async () => {
    weir = await Weir.start({ agents: { carrier: {} }, routes: { "100": ["carrier"] } });
  });
  afterAll(() => weir?.stop());

  const skipped = tsharkInstalled ? "" : " (skipped: tshark is not installed)";

  it.skipIf(!tsharkInstalled)(`is sound to Wireshark's dissector, both legs${skipped}`, async () => {
    const messages: string[] = [];
    for (const [caller, agent] of [
      ["uac-answer-and-bye", "uas-answer-and-bye"],
      ["uac-cancel-after-180", "uas-ring-until-cancelled"],
      ["uac-update-before-answer", "uas-update-before-answer"],
      ["uac-refer", "uas-refer"],
    ] as const) {
      const sides = await callThrough(weir, { number: "100", caller, agents: { carrier: agent } });
      messages.push(...Object.values(sides).flatMap((side) => side.messages));
    }
    expect(messages.length).toBeGreaterThan(30);
    expect(await dissect(messages)).toEqual([]);
  });
});
