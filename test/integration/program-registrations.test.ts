import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { onDrachtio } from "../support/external-engine.ts";
import { Phone } from "../support/phone.ts";
import { Registrar } from "../support/registrar.ts";
import { token } from "../support/sip-text.ts";
import { Weir } from "../support/weir.ts";

interface Shown {
  readonly aor: string;
  readonly contact: string;
  readonly registrar: string;
}

describe("a phone behind a NAT that registers through Weir", () => {
  let weir: Weir;
  let registrar: Registrar;
  let phone: Phone;

  beforeAll(async () => {
    weir = await Weir.start({
      agents: {
        first: {},
        second: {},
        // One in 100 s.
        limited: { "max-register-burst-rate": 0.01, "register-burst-window": 100 },
      },
      routes: { "*": ["first", "second"], "7": ["limited"] },
      more: { failover: { "first-response-timeout": 0.2 }, registrations: { "max-contacts": 3 } },
    });
  });
  afterAll(() => weir?.stop());
  beforeEach(async () => {
    registrar = await Registrar.at(weir.agent("first"));
    phone = await Phone.overUdp(`u${token()}`, weir.listen, await weir.caller());
  });
  afterEach(async () => {
    phone.close();
    registrar.close();
    await weir.idle();
  });

  const shown = async (): Promise<Shown[]> => {
    const { text } = await weir.get("/v1/registrations");
    return (JSON.parse(text) as { registrations: Shown[] }).registrations.filter(
      ({ contact }) => contact === phone.contact,
    );
  };
  const ours = () => `@${weir.listen.address}:${weir.listen.port}`;

  it("is shown its own Contact and its expiry, and the registrar sees Weir in its place", async () => {
    registrar.answer = (register) => [`Contact: ${register.header("Contact")};expires=77`];
    const ok = await phone.register(300, { contact: `"A" <${phone.contact}>;q=0.5;+sip.instance="<urn:x>"` });
    expect(ok.status).toBe(200);
    expect(ok.header("Contact")).toBe(`<${phone.contact}>;q=0.5;+sip.instance="<urn:x>";expires=77`);
    const [register] = registrar.registers;
    expect(register?.header("Contact")).toMatch(
      new RegExp(`^<sip:r-[0-9a-f]{20}${ours().replaceAll(".", "\\.")}>;q=0.5;\\+sip.instance="<urn:x>"$`),
    );
    expect(register?.header("Expires")).toBe("300");
    expect(register?.headers("Via")).toHaveLength(1);
    expect(register?.text).not.toMatch(/10\.99\.99\.5|phone-/);
    expect(await shown()).toMatchObject([{ registrar: "first" }]);
  });

  it("is the same phone to the registrar when it refreshes, and has order in its CSeq", async () => {
    await phone.register(300);
    await phone.register(300);
    const [one, two] = registrar.registers;
    expect(two?.header("Contact")).toBe(one?.header("Contact"));
    expect(two?.header("Call-ID")).toBe(one?.header("Call-ID"));
    expect([one, two].map((each) => each?.header("CSeq"))).toEqual(["1 REGISTER", "2 REGISTER"]);
    expect(await shown()).toHaveLength(1);
  });

  it("is gone when it unregisters, by its Contact or by all, and when its time is over", async () => {
    await phone.register(300);
    const { contact } = registrar;
    const bye = await phone.register(0);
    expect(bye.status).toBe(200);
    expect(bye.headers("Contact")).toEqual([]);
    expect(await shown()).toEqual([]);
    expect((await registrar.call(contact, weir.listen)).final.status).toBe(480);
    await phone.register(300);
    expect((await phone.register(0, { contact: "*" })).status).toBe(200);
    expect(registrar.registers.at(-1)?.header("Contact")).toBe(onDrachtio ? `<${contact}>;expires=0` : "*");
    expect(await shown()).toEqual([]);
    registrar.answer = (register) => [`Contact: ${register.header("Contact")};expires=1`];
    await phone.register(300);
    expect(await shown()).toHaveLength(1);
    await expect.poll(shown, { timeout: 5_000 }).toEqual([]);
  });

  it("keeps the domain that it registers with, which is sent to the registrar all the same", async () => {
    const ok = await phone.register(300, { domain: "voice.example" });
    expect(ok.status).toBe(200);
    const [register] = registrar.registers;
    expect(register?.requestUri).toBe("sip:voice.example");
    expect(register?.header("To")).toMatch(/^<sip:u[0-9a-f]+@voice\.example>$/);
    expect(register?.header("From")).toMatch(/^<sip:u[0-9a-f]+@voice\.example>;tag=/);
    const { text } = await weir.get(`/v1/registrations?aor=${/sip:(\w+)@/.exec(phone.contact)?.[1]}@voice.example`);
    expect((JSON.parse(text) as { registrations: Shown[] }).registrations).toHaveLength(1);
  });

  it("is told 423, 401 and 403 as the registrar says them, and its credentials pass untouched", async () => {
    registrar.answer = () => ({ status: 423, headers: ["Min-Expires: 600"] });
    const brief = await phone.register(10);
    expect([brief.status, brief.header("Min-Expires")]).toEqual([423, "600"]);
    const challenge = 'Digest realm="r", nonce="n", algorithm=SHA-256, qop="auth,auth-int"';
    registrar.answer = () => ({ status: 401, headers: [`WWW-Authenticate: ${challenge}`] });
    const challenged = await phone.register(300);
    expect([challenged.status, challenged.header("WWW-Authenticate")]).toEqual([401, challenge]);
    expect(await shown()).toEqual([]);
    registrar.answer = () => undefined;
    const credentials = 'Digest username="u", realm="r", nonce="n", uri="sip:r", response="0a", qop=auth, nc=00000001';
    await phone.register(300, { headers: [`Authorization: ${credentials}`] });
    expect(registrar.registers.at(-1)?.header("Authorization")).toBe(credentials);
  });

  it("is registered at the next registrar of the group when the first says 503, or nothing", async () => {
    const second = await Registrar.at(weir.agent("second"));
    for (const answer of [{ status: 503 }, "nothing"] as const) {
      registrar.answer = () => answer;
      expect((await phone.register(300)).status).toBe(200);
      expect(await shown()).toMatchObject([{ registrar: "second" }]);
    }
    second.close();
    // What was left without an answer is sent again, and would be so to the registrar of the next test.
    const heard = registrar.registers.length;
    registrar.answer = () => undefined;
    await expect.poll(() => registrar.registers.length, { timeout: 5_000 }).toBeGreaterThan(heard);
  });

  it("goes to the next registrar above the rate of the first, and with credentials passes that rate", async () => {
    const limited = await Registrar.at(weir.agent("limited"));
    const seventh = await Phone.overUdp("700", weir.listen, await weir.caller());
    for (const headers of [[], [], ['Authorization: Digest username="u"']]) {
      expect((await seventh.register(300, { headers })).status).toBe(200);
    }
    expect(limited.registers.map((register) => register.header("CSeq"))).toEqual(["1 REGISTER", "3 REGISTER"]);
    expect(registrar.registers.map((register) => register.header("CSeq"))).toEqual(["2 REGISTER"]);
    expect((await weir.view("limited")).exceeded).toEqual({ "max-register-burst-rate": 1 });
    seventh.close();
    limited.close();
  });

  it("may have no more Contacts than the cap, and a REGISTER that makes no sense is 400", async () => {
    const contacts = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, at) => `<sip:x@10.99.99.5:${from + at}>`).join(", ");
    for (let times = 0; times < 2; times++) {
      expect((await phone.register(300, { contact: contacts(1, 4) })).status).toBe(200);
      expect(registrar.registers.at(-1)?.text.split(ours())).toHaveLength(4);
    }
    expect((await phone.register(300, { contact: contacts(4, 5) })).status).toBe(403);
    expect((await phone.register(0, { contact: contacts(1, 2) })).status).toBe(200);
    expect((await phone.register(300, { contact: contacts(4, 5) })).status).toBe(200);
    const heard = registrar.registers.length;
    expect((await phone.register(300, { contact: "*" })).status).toBe(400);
    expect((await phone.register(0, { contact: `*, <${phone.contact}>` })).status).toBe(400);
    expect((await phone.register(300, { contact: "<mailto:a@b>" })).status).toBe(400);
    expect(registrar.registers).toHaveLength(heard);
    // A drachtio-server refuses `*` with another expiry than 0 by itself.
    expect(await weir.metric("weir_registers_refused_total")).toBe(onDrachtio ? 3 : 4);
  });

  it("may have a Contact with parameters of any length", async () => {
    const params = `;methods="${"INVITE, ACK, BYE, CANCEL, OPTIONS, ".repeat(10)}"`;
    const ok = await phone.register(300, { contact: `<${phone.contact}>${params}` });
    expect(ok.header("Contact")).toBe(`<${phone.contact}>${params};expires=300`);
    expect(registrar.contact).toMatch(new RegExp(`^sip:r-[0-9a-f]{20}${ours()}$`));
  });

  it("hears what is registered when it asks without a Contact", async () => {
    await phone.register(300);
    const { contact } = registrar;
    registrar.answer = () => [`Contact: <${contact}>;expires=200`, "Contact: <sip:desk@192.0.2.9>;expires=100"];
    const ok = await phone.register(300, { contact: "" });
    expect(ok.status).toBe(200);
    expect(ok.headers("Contact")).toEqual([`<${phone.contact}>;expires=200`]);
  });
});
