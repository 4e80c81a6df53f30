import { afterAll, beforeAll, it } from "vitest";
import { callThrough } from "../support/call-through.ts";
import { describeWithSipp } from "../support/sipp.ts";
import { Weir } from "../support/weir.ts";

describeWithSipp("a call changes while it lasts", () => {
  let weir: Weir;

  beforeAll(async () => {
    weir = await Weir.start({
      agents: { carrier: {}, "tcp-carrier": { "transport-method": "TCP" } },
      routes: { "100": ["carrier"], "200": ["tcp-carrier"] },
    });
  });
  afterAll(() => weir?.stop());

  const changes = [
    ["by a re-INVITE of the caller", "uac-reinvite", "uas-reinvited"],
    ["by a re-INVITE of the caller that is refused", "uac-reinvite-refused", "uas-refuse-reinvite"],
    ["by a re-INVITE of the agent", "uac-reinvited", "uas-reinvite"],
    ["by a re-INVITE of the agent that is refused", "uac-refuse-reinvite", "uas-reinvite-refused"],
    ["by re-INVITEs that meet: 491 for both", "uac-glare", "uas-glare"],
    ["by an offer that is made as late as the 200", "uac-late-offer", "uas-late-offer"],
    ["by a reliable provisional response and its PRACK", "uac-prack", "uas-prack"],
    ["by an UPDATE before it is answered", "uac-update-before-answer", "uas-update-before-answer"],
    ["by a REFER and its NOTIFY", "uac-refer", "uas-refer"],
    ["by nothing: INFO, MESSAGE and OPTIONS pass", "uac-info-message-options", "uas-info-message-options"],
  ] as const;

  it.each(changes)("%s", async (_, caller, agent) => {
    await callThrough(weir, { number: "100", caller, agents: { carrier: agent } });
  });

  it.each(changes)("%s, with TCP on the agent's leg", async (_, caller, agent) => {
    await callThrough(weir, { number: "200", caller, agents: { "tcp-carrier": [agent, { transport: "tcp" }] } });
  });
});
