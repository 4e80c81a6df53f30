import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { EdgeProxy } from "../support/edge-proxy.ts";
import { onDrachtio } from "../support/external-engine.ts";
import type { Endpoint } from "../support/loopback.ts";
import { Phone } from "../support/phone.ts";
import { RawUa } from "../support/raw-ua.ts";
import { Registrar } from "../support/registrar.ts";
import { RawCall, responseTo, type SipText, token } from "../support/sip-text.ts";
import { Weir } from "../support/weir.ts";

const supported = ["Supported: path, gruu"];

// drachtio-server drops the Route of an application.
describe.skipIf(onDrachtio)("a phone behind an edge proxy that adds a Path (RFC 3327)", () => {
  let weir: Weir;
  let registrar: Registrar;
  let proxy: EdgeProxy;
  let phone: Phone;
  let user: string;

  beforeAll(async () => {
    weir = await Weir.start({ agents: { registrar: {}, edge: {} }, routes: { "*": ["registrar"] } });
  });
  afterAll(() => weir?.stop());
  beforeEach(async () => {
    registrar = await Registrar.at(weir.agent("registrar"));
    proxy = await EdgeProxy.at(await weir.caller(), weir.listen);
    user = `u${token()}`;
    phone = await Phone.overUdp(user, proxy.local, await weir.caller());
  });
  afterEach(async () => {
    phone.close();
    proxy.close();
    registrar.close();
    await weir.idle();
  });

  const register = (headers: readonly string[]) => phone.register(300, { domain: "voice.example", headers });

  const shown = async (): Promise<{ path?: string[] } | undefined> => {
    const { text } = await weir.get(`/v1/registrations?aor=${user}@voice.example`);
    return (JSON.parse(text) as { registrations: { path?: string[] }[] }).registrations[0];
  };

  it("is called by way of the proxy, and the registrar sees nothing of it", async () => {
    const ok = await register(supported);
    const path = /<([^>]+)>/.exec(ok.header("Path"))?.[1] ?? "";
    expect([ok.status, path]).toEqual([200, proxy.uriOf(phone.local)]);
    expect(await shown()).toMatchObject({ path: [`<${path}>`] });
    const [asked] = registrar.registers;
    expect([asked?.header("Supported"), asked?.header("Path")]).toEqual(["gruu", ""]);
    const { final, call } = await registrar.call(registrar.contact, weir.listen);
    expect(final.status).toBe(200);
    const [invite] = proxy.requests("INVITE");
    expect([invite?.requestUri, invite?.headers("Route")]).toEqual([phone.contact, [`<${path}>`]]);
    await phone.receive("the ACK", (m) => m.method === "ACK");
    expect((await registrar.ask(call, "INFO", final, weir.listen)).status).toBe(200);
    expect((await registrar.ask(call, "BYE", final, weir.listen)).status).toBe(200);
    await phone.receive("the BYE", (m) => m.method === "BYE" && !m.status);
    expect(proxy.requests("BYE").map((bye) => bye.requestUri)).toEqual(["sip:agent@10.99.99.5:5060"]);
  });

  it("gets requests outside calls by the same way", async () => {
    await register(supported);
    const call = new RawCall(registrar.local, weir.listen, "phone");
    registrar.send(call.invite({ requestUri: registrar.contact }).replaceAll("INVITE", "MESSAGE"), weir.listen);
    expect((await registrar.final(call.callId, "MESSAGE")).status).toBe(200);
    expect(proxy.requests("MESSAGE").map((m) => m.header("Route"))).toEqual([`<${proxy.uriOf(phone.local)}>`]);
  });

  it("that does not know the extension is reached all the same, and not told of it", async () => {
    const ok = await register([]);
    expect([ok.status, ok.headers("Path")]).toEqual([200, []]);
    const { final, call } = await registrar.call(registrar.contact, weir.listen);
    expect(final.status).toBe(200);
    expect(proxy.requests("INVITE")).toHaveLength(1);
    await registrar.ask(call, "BYE", final, weir.listen);
  });

  it("has no Path any more once it registers without one", async () => {
    await register(supported);
    expect(await shown()).toHaveProperty("path");
    const direct = await Phone.overUdp(user, weir.listen, await weir.caller());
    await direct.register(300, { domain: "voice.example" });
    expect(await shown()).not.toHaveProperty("path");
    direct.close();
  });

  it("is 480 once the proxy is gone", async () => {
    await register(supported);
    proxy.close();
    expect((await registrar.call(registrar.contact, weir.listen)).final.status).toBe(480);
    proxy = await EdgeProxy.at(await weir.caller(), weir.listen);
  });

  describe("as the proxy tells it", () => {
    /** Registers from where the proxy is. */
    const registerAs = async (ua: RawUa, headers: readonly string[]): Promise<SipText> => {
      const call = new RawCall(ua.local, weir.listen, user);
      const text = call
        .invite({ requestUri: "sip:voice.example" })
        .replaceAll("INVITE", "REGISTER")
        .replace(/^To: [^\r]*/m, `To: <sip:${user}@voice.example>`)
        .replace(/^Contact: [^\r]*/m, [`Contact: <sip:${user}@10.99.99.5:5062;ob>`, ...headers].join("\r\n"));
      ua.send(text, weir.listen);
      return ua.receive("an answer", (m) => m.status >= 200 && m.header("Call-ID") === call.callId);
    };

    /** An edge that answers INVITE with 486. */
    const busyAt = (local: Endpoint): Promise<RawUa> =>
      RawUa.open(local, ({ message, from }, ua) => {
        if (message.method === "INVITE" && !message.status) ua.send(responseTo(message, 486, "Busy", local), from);
      });

    it("has all its proxies in the Route, nearest first, in the ACK of a failure too", async () => {
      const edge = await busyAt(await weir.caller());
      const near = `<sip:${edge.local.address}:${edge.local.port};lr;received=sip:10.0.0.1:5%3Btransport%3Dtcp>`;
      const [second, third] = ["<sip:p2.example;lr;x=a>", "<sip:p3.example;lr>"];
      const ok = await registerAs(edge, [`Path: ${near}, ${second}`, `Path: ${third}`, ...supported]);
      expect(ok.headers("Path").join(", ")).toBe([near, second, third].join(", "));
      expect((await registrar.call(registrar.contact, weir.listen)).final.status).toBe(486);
      for (const method of ["INVITE", "ACK"]) {
        const message = await edge.receive(method, (m) => !m.status && m.method === method);
        expect(message.headers("Route")).toEqual([near, second, third]);
        expect(message.requestUri).toBe(`sip:${user}@10.99.99.5:5062;ob`);
      }
      edge.close();
    });

    it("is believed of an agent wherever it leads, and of nobody else", async () => {
      const elsewhere = await busyAt(await weir.caller());
      const path = `Path: <sip:${elsewhere.local.address}:${elsewhere.local.port};lr>`;
      const stranger = await RawUa.open(await weir.caller());
      const ok = await registerAs(stranger, [path, ...supported]);
      expect([ok.status, ok.headers("Path")]).toEqual([200, []]);
      expect(await shown()).not.toHaveProperty("path");
      const refused = await registerAs(stranger, [path, ...supported, "Require: path"]);
      expect([refused.status, refused.header("Unsupported")]).toEqual([420, "path"]);
      const agent = await RawUa.open(weir.agent("edge"));
      expect((await registerAs(agent, [path, ...supported, "Require: path"])).headers("Path")).toHaveLength(1);
      expect((await registrar.call(registrar.contact, weir.listen)).final.status).toBe(486);
      expect(registrar.registers.map((each) => each.headers("Require"))).toEqual([[], []]);
      for (const ua of [elsewhere, stranger, agent]) ua.close();
    });

    it.each(["", ",", "sip:p1.example;lr", "<tel:1>", "<sip:>", "<sip:p1.example;lr", "<sip:p1.example;lr>, *"])(
      "is 400 where it is %j",
      async (path) => {
        const ua = await RawUa.open(await weir.caller());
        expect((await registerAs(ua, [`Path: ${path}`, ...supported])).status).toBe(400);
        expect(registrar.registers).toEqual([]);
        ua.close();
      },
    );
  });
});
