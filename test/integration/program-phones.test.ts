import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { CertificateAuthority } from "../support/certificate-authority.ts";
import { onDrachtio } from "../support/external-engine.ts";
import { PemDirectory } from "../support/pem-directory.ts";
import { Phone } from "../support/phone.ts";
import { RawUa } from "../support/raw-ua.ts";
import { Registrar } from "../support/registrar.ts";
import { byeAfter, RawCall, type SipText, token } from "../support/sip-text.ts";
import { Weir } from "../support/weir.ts";

const authority = new CertificateAuthority();
const files = new PemDirectory();
const trusting = { ca: authority.certificate, servername: "weir.example" };

describe("how a phone behind a NAT is reached", () => {
  let weir: Weir;
  let registrar: Registrar;

  beforeAll(async () => {
    const tls = files.write("weir", authority.issue({ names: ["weir.example"] }), authority);
    weir = await Weir.start({ agents: { registrar: {} }, routes: { "*": ["registrar"] }, ...(!onDrachtio && { tls }) });
  });
  afterAll(async () => {
    await weir?.stop();
    files.remove();
  });
  beforeEach(async () => {
    registrar = await Registrar.at(weir.agent("registrar"));
  });
  afterEach(async () => {
    registrar.close();
    await weir.idle();
  });

  const ours = () => `@${weir.listen.address}:${weir.listen.port}`;
  // The drachtio-server of these tests has no certificate.
  const streams = { TCP: Phone.overTcp, ...(!onDrachtio && { TLS: overTls }) };
  async function overTls(user: string): Promise<Phone> {
    return Phone.overTls(user, weir.listenTls, await weir.caller(), trusting);
  }

  describe.each(Object.entries({ UDP: Phone.overUdp, ...streams }))("over %s", (protocol, connect) => {
    let phone: Phone;
    const open = async (user: string) => connect(user, weir.listen, await weir.caller());

    beforeEach(async () => {
      phone = await open(`u${token()}`);
    });
    afterEach(() => phone.close());

    const secured = protocol === "TLS" ? ";transport=tls" : protocol === "TCP" ? ";transport=tcp" : "";

    it("by the port or the connection that it registered from, with its own Contact, for all of a call", async () => {
      expect((await phone.register(300, { domain: "voice.example" })).status).toBe(200);
      const { final, call } = await registrar.call(registrar.contact, weir.listen);
      expect(final.status).toBe(200);
      const invite = await phone.request("INVITE");
      expect(invite.requestUri).toBe(phone.contact);
      expect(invite.header("Contact")).toMatch(new RegExp(`^<sip:raw@[\\d.:]+${secured}>$`));
      await phone.request("ACK");
      expect((await registrar.ask(call, "INFO", final, weir.listen)).status).toBe(200);
      expect((await registrar.ask(call, "BYE", final, weir.listen)).status).toBe(200);
      await phone.request("BYE");
    });

    it("for a MESSAGE and a NOTIFY that no dialog holds", async () => {
      await phone.register(300);
      for (const method of ["MESSAGE", "NOTIFY"]) {
        const call = new RawCall(registrar.local, weir.listen, "phone");
        const text = call.invite({ requestUri: registrar.contact }).replaceAll("INVITE", method);
        registrar.send(text, weir.listen);
        expect((await registrar.final(call.callId, method)).status).toBe(200);
        await phone.request(method);
      }
    });

    it("at its new port or connection once it has registered from there, and not by the old one", async () => {
      await phone.register(300);
      const moved = await open(phone.user);
      await moved.register(300);
      const { final, call } = await registrar.call(registrar.contact, weir.listen);
      expect(final.status).toBe(200);
      await moved.request("INVITE");
      await registrar.ask(call, "BYE", final, weir.listen);
      expect(phone.received.filter((m) => m.method === "INVITE")).toEqual([]);
      moved.close();
    });

    // drachtio-server keeps to the one that the call began with.
    it.skipIf(onDrachtio)(
      "at its new port or connection within a call, once something has come from there",
      async () => {
        await phone.register(300);
        const { final, call } = await registrar.call(registrar.contact, weir.listen);
        const invite = await phone.request("INVITE");
        await phone.request("ACK");
        const moved = await open(phone.user);
        moved.send("INFO", `sip:weir${ours()}`, [...answering(invite), "CSeq: 7 INFO"]);
        expect((await moved.receive("an answer", (m) => m.method === "INFO" && m.status >= 200)).status).toBe(200);
        phone.close();
        expect((await registrar.ask(call, "BYE", final, weir.listen)).status).toBe(200);
        await moved.request("BYE");
        moved.close();
        phone = await open(phone.user);
      },
    );

    it("that calls is hung up on where it called from", async () => {
      const from = `From: <sip:${phone.user}${ours()}>;tag=c`;
      const callId = `Call-ID: nat-${token()}`;
      const to = `To: <sip:x${ours()}>`;
      phone.send("INVITE", `sip:x${ours()}`, [from, to, callId, "CSeq: 1 INVITE", `Contact: <${phone.contact}>`]);
      const ok = await phone.receive("an answer", (m) => m.status >= 200);
      expect(ok.status).toBe(200);
      phone.send("ACK", `sip:x${ours()}`, [from, `To: ${ok.header("To")}`, callId, "CSeq: 1 ACK"]);
      const ack = await registrar.receive("the ACK", (m) => m.method === "ACK");
      registrar.send(byeAfter(ack, registrar.local, weir.listen), weir.listen);
      await phone.request("BYE");
      await weir.idle();
    });
  });

  describe.each(Object.entries(streams))("over %s", (_protocol, connect) => {
    const open = async (user: string) => connect(user, weir.listen, await weir.caller());

    it("not at all once its connection is closed: 480, and the registration waits for the next connection", async () => {
      const phone = await open(`u${token()}`);
      await phone.register(300, { domain: "voice.example" });
      phone.close();
      await expect
        .poll(() => registrar.call(registrar.contact, weir.listen).then(hungUp), { timeout: 9_000 })
        .toBe(480);
      expect((await weir.view("registrar")).state.letter).toBe("I");
      const { text } = await weir.get(`/v1/registrations?aor=${phone.user}@voice.example`);
      expect((JSON.parse(text) as { registrations: unknown[] }).registrations).toHaveLength(1);
      const again = await open(phone.user);
      await again.register(300, { domain: "voice.example" });
      expect(await registrar.call(registrar.contact, weir.listen).then(hungUp)).toBe(200);
      again.close();
    });

    it("not at all in the middle of a call: who hangs up is answered, and the call is over", async () => {
      const phone = await open(`u${token()}`);
      await phone.register(300);
      const { final, call } = await registrar.call(registrar.contact, weir.listen);
      await phone.request("ACK");
      phone.close();
      expect((await registrar.ask(call, "BYE", final, weir.listen)).status).toBe(200);
    });

    async function hungUp({ final, call }: Awaited<ReturnType<Registrar["call"]>>): Promise<number> {
      if (final.status === 200) await registrar.ask(call, "BYE", final, weir.listen);
      return final.status;
    }
  });

  it.skipIf(onDrachtio)("by SIPS where it registered so", async () => {
    const phone = await overTls(`u${token()}`);
    const contact = `sips:${phone.user}@10.99.99.5:5061`;
    await phone.register(300, { contact: `<${contact}>` });
    const { final, call } = await registrar.call(registrar.contact, weir.listen);
    const invite = await phone.request("INVITE");
    expect([final.status, invite.requestUri]).toEqual([200, contact]);
    expect(invite.header("Contact")).toMatch(/^<sips:raw@/);
    await registrar.ask(call, "BYE", final, weir.listen);
    await phone.request("BYE");
    phone.close();
  });

  it("by agents alone", async () => {
    const phone = await Phone.overUdp(`u${token()}`, weir.listen, await weir.caller());
    await phone.register(300);
    const stranger = await weir.caller();
    const ua = await RawUa.open(stranger);
    const call = new RawCall(stranger, weir.listen, "phone");
    ua.send(call.invite({ requestUri: registrar.contact }), weir.listen);
    // Routed like any other number: to the agent, which knows it or not.
    const final = await ua.final(call.callId);
    ua.send(call.ack(final), weir.listen);
    ua.send(call.request("BYE", final), weir.listen);
    await ua.receive("an answer to BYE", (m) => m.status === 200 && m.method === "BYE");
    expect(phone.received.filter((m) => m.method === "INVITE")).toEqual([]);
    ua.close();
    phone.close();
  });
});

/** What a phone says in a dialog that it has answered. */
const answering = (invite: SipText): string[] => [
  `From: ${invite.header("To")};tag=agent-${invite.header("Call-ID").slice(0, 8)}`,
  `To: ${invite.header("From")}`,
  `Call-ID: ${invite.header("Call-ID")}`,
];
