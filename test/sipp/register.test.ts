import { afterAll, beforeAll, expect, it } from "vitest";
import { describeWithSipp, Sipp } from "../support/sipp.ts";
import { Weir } from "../support/weir.ts";

describeWithSipp("phones that register through Weir", () => {
  let weir: Weir;

  beforeAll(async () => {
    weir = await Weir.start({ agents: { registrar: {} }, routes: { "*": ["registrar"] } });
  });
  afterAll(() => weir?.stop());

  it("are challenged by the registrar, answer it, and keep their own Contact", async () => {
    const registrar = await Sipp.start("uas-registrar", { local: weir.agent("registrar"), calls: 20 });
    const local = await weir.caller();
    const phones = await Sipp.start("uac-register", { local, remote: weir.listen, service: "alice", calls: 20 });
    try {
      const answers = (await phones.succeeded()).messages.filter((message) => message.startsWith("SIP/2.0 200"));
      expect(answers).toHaveLength(20);
      const contact = `Contact: <sip:alice@${local.address}:${local.port}>;expires=120`;
      for (const answer of answers) expect(answer).toContain(contact);
      const { messages } = await registrar.succeeded();
      expect(messages).toHaveLength(40);
      for (const message of messages) expect(message).not.toContain(local.address);
      expect(await weir.metric("weir_registrations")).toBe(1);
      expect(await weir.metric("weir_registers_answered_total")).toBe(40);
    } finally {
      await phones.stop();
      await registrar.stop();
    }
  });
});
