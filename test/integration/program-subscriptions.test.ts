import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { CertificateAuthority } from "../support/certificate-authority.ts";
import { onDrachtio } from "../support/external-engine.ts";
import { PemDirectory } from "../support/pem-directory.ts";
import { Phone } from "../support/phone.ts";
import { RawUa } from "../support/raw-ua.ts";
import { Registrar } from "../support/registrar.ts";
import { notifyAfter, RawCall, responseTo, type SipText, token } from "../support/sip-text.ts";
import { Weir } from "../support/weir.ts";

const asked = ["Event: message-summary", "Expires: 300", "Accept: application/simple-message-summary"];
const authority = new CertificateAuthority();
const files = new PemDirectory();

describe("a subscription outside calls (RFC 6665)", () => {
  let weir: Weir;
  let subscriber: RawUa;
  let notifier: RawUa;
  /** How the notifier answers SUBSCRIBE and REFER. */
  let answer: (request: SipText) => string;

  beforeAll(async () => {
    const tls = files.write("weir", authority.issue({ names: ["weir.example"] }), authority);
    weir = await Weir.start({
      agents: { dead: {}, notifier: {} },
      routes: { "*": ["dead", "notifier"] },
      ...(onDrachtio ? {} : { tls }),
      more: { failover: { "first-response-timeout": 0.2 } },
    });
  });
  afterAll(async () => {
    await weir?.stop();
    files.remove();
  });
  beforeEach(async () => {
    subscriber = await RawUa.open(await weir.caller(), ({ message, from }, ua) => {
      if (!message.status) ua.send(responseTo(message, 200, "OK", ua.local), from);
    });
    const local = weir.agent("notifier");
    answer = (request) => granted(request);
    notifier = await RawUa.open(local, ({ message, from }, ua) => {
      if (message.status || message.method === "NOTIFY") return;
      ua.send(answer(message), from);
    });
  });
  afterEach(async () => {
    subscriber.close();
    notifier.close();
    await expect.poll(() => weir.metric("weir_subscriptions"), { timeout: 9_000 }).toBe(0);
    await weir.idle();
  });

  const granted = (request: SipText, status = 200, expires = request.header("Expires")): string =>
    responseTo(request, status, "OK", notifier.local).replace(
      "Content-Length",
      `Expires: ${expires}\r\nContent-Length`,
    );
  const call = () => new RawCall(subscriber.local, weir.listen, "100");
  const final = (ua: RawUa, method: string, callId: string, cseq: number): Promise<SipText> =>
    ua.receive(
      `an answer to ${method} ${cseq}`,
      (m) => m.status >= 200 && m.header("Call-ID") === callId && m.header("CSeq") === `${cseq} ${method}`,
    );
  const first = async (ua: RawUa, asks: RawCall, method = "SUBSCRIBE", headers = asked) => {
    ua.send(asks.first(method, headers), weir.listen);
    return final(ua, method, asks.callId, 1);
  };
  const heard = (ua: RawUa, method: string): SipText[] =>
    ua.received.map(({ message }) => message).filter((m) => !m.status && m.method === method);
  const next = (ua: RawUa, method: string, nth: number): Promise<SipText> =>
    expect
      .poll(() => heard(ua, method)[nth - 1], { timeout: 9_000 })
      .toBeDefined()
      .then(() => heard(ua, method)[nth - 1] as SipText);
  /** The notifier's NOTIFY; the status of the answer to it. */
  const notify = async (subscribe: SipText, cseq: number, state: string): Promise<number> => {
    notifier.send(notifyAfter(subscribe, state, { local: notifier.local, peer: weir.listen, cseq }), weir.listen);
    return (await final(notifier, "NOTIFY", subscribe.header("Call-ID"), cseq)).status;
  };

  it("is made, refreshed, notified and ended, on two dialogs that know nothing of each other", async () => {
    const asks = call();
    const ok = await first(subscriber, asks);
    expect([ok.status, ok.header("Expires")]).toEqual([200, "300"]);
    const subscribe = await next(notifier, "SUBSCRIBE", 1);
    expect(subscribe.headers("Via")).toHaveLength(1);
    expect(subscribe.header("Event")).toBe("message-summary");
    expect(subscribe.text).not.toContain(subscriber.local.address);
    expect(await weir.metric("weir_subscriptions")).toBe(1);
    expect(await notify(subscribe, 1, "active;expires=299")).toBe(200);
    const notified = await next(subscriber, "NOTIFY", 1);
    expect(notified.header("Subscription-State")).toBe("active;expires=299");
    expect([notified.header("To"), notified.header("From")]).toEqual([
      `<sip:raw@${subscriber.local.address}:${subscriber.local.port}>;tag=${asks.fromTag}`,
      ok.header("To"),
    ]);
    subscriber.send(asks.request("SUBSCRIBE", ok, asked), weir.listen);
    expect((await final(subscriber, "SUBSCRIBE", asks.callId, 2)).status).toBe(200);
    expect(await notify(subscribe, 2, "active;expires=300")).toBe(200);
    subscriber.send(asks.request("SUBSCRIBE", ok, ["Event: message-summary", "Expires: 0"]), weir.listen);
    expect((await final(subscriber, "SUBSCRIBE", asks.callId, 3)).header("Expires")).toBe("0");
    // drachtio-server has passed it on and dropped its dialog before it is answered.
    expect(await notify(subscribe, 3, "terminated;reason=timeout")).toBe(onDrachtio ? 500 : 200);
    expect(heard(subscriber, "NOTIFY")).toHaveLength(3);
    expect(await notify(subscribe, 4, "active")).toBe(481);
  });

  // drachtio-server names the dialog of a SUBSCRIBE only once it is answered.
  it.skipIf(onDrachtio)("is notified in order where the NOTIFY overtakes the 200 (section 4.1.2.4)", async () => {
    answer = (subscribe) => {
      const { local } = notifier;
      notifier.send(notifyAfter(subscribe, "active", { local, peer: weir.listen, cseq: 1 }), weir.listen);
      return granted(subscribe, 200);
    };
    await first(subscriber, call());
    await next(subscriber, "NOTIFY", 1);
    const order = subscriber.received.map(({ message }) => message.status || message.method);
    expect(order.slice(-2)).toEqual([200, "NOTIFY"]);
    const [subscribe] = heard(notifier, "SUBSCRIBE");
    expect(subscribe && (await notify(subscribe, 2, "terminated"))).toBe(200);
  });

  it("that the notifier refuses is refused in its words, and leaves nothing", async () => {
    answer = (request) => responseTo(request, 489, "Bad Event", notifier.local);
    expect((await first(subscriber, call())).status).toBe(489);
    expect(await weir.metric("weir_subscriptions")).toBe(0);
  });

  it("is over when the subscriber knows it no more", async () => {
    await first(subscriber, call());
    const subscribe = await next(notifier, "SUBSCRIBE", 1);
    subscriber.close();
    subscriber = await RawUa.open(subscriber.local, ({ message, from }, ua) => {
      if (!message.status) ua.send(responseTo(message, 481, "Gone", ua.local), from);
    });
    expect(await notify(subscribe, 1, "active")).toBe(481);
  });

  // drachtio-server does not answer a REFER outside dialogs.
  it.skipIf(onDrachtio)("is not made by REFER where no policy names it", async () => {
    const refused = await first(subscriber, call(), "REFER", ["Refer-To: <sip:x@y>"]);
    expect([refused.status, refused.header("Allow")]).toEqual([405, expect.stringContaining("SUBSCRIBE")]);
  });

  it.skipIf(onDrachtio).each(["TCP", "TLS"])(
    "of a phone behind a NAT is notified over its %s connection",
    async (over) => {
      const at = await weir.caller();
      const options = { ca: authority.certificate, servername: "weir.example" };
      const phone = await (over === "TCP"
        ? Phone.overTcp("p", weir.listen, at)
        : Phone.overTls("p", weir.listenTls, at, options));
      phone.send("SUBSCRIBE", `sip:100@${weir.listen.address}`, [
        `From: <sip:p@${weir.listen.address}>;tag=p`,
        `To: <sip:100@${weir.listen.address}>`,
        `Call-ID: ${token()}`,
        "CSeq: 1 SUBSCRIBE",
        `Contact: <${phone.contact}>`,
        ...asked,
      ]);
      expect((await phone.receive("an answer", (m) => m.status >= 200)).status).toBe(200);
      const subscribe = await next(notifier, "SUBSCRIBE", 1);
      expect(await notify(subscribe, 1, "terminated")).toBe(200);
      expect((await phone.request("NOTIFY")).requestUri).toBe(phone.contact);
      phone.close();
    },
  );
});

// drachtio-server gives REFER outside calls no dialog, and phones other paths.
describe.skipIf(onDrachtio)("a subscription with a registered phone, and one by REFER", () => {
  let weir: Weir;
  let registrar: Registrar;

  beforeAll(async () => {
    const attributes = [{ "next-hop": "registrar", cost: 0 }];
    const all = { "from-address": ["*"], "to-address": ["*"], "source-realm": ["*"] };
    weir = await Weir.start({
      agents: { registrar: {} },
      routes: {},
      more: {
        "local-policies": ["REGISTER", "REFER"].map((method) => ({
          ...all,
          methods: [method],
          "policy-attributes": attributes,
        })),
      },
    });
    registrar = await Registrar.at(weir.agent("registrar"));
  });
  afterAll(async () => {
    registrar?.close();
    await weir?.stop();
  });

  it("reaches the phone by its connection, refreshes and all", async () => {
    const phone = await Phone.overTcp(`u${token()}`, weir.listen, await weir.caller());
    await phone.register(300);
    const asks = new RawCall(registrar.local, weir.listen, /:(r-\w+)@/.exec(registrar.contact)?.[1] ?? "");
    registrar.send(asks.first("SUBSCRIBE", ["Event: dialog", "Expires: 60"]), weir.listen);
    const ok = await registrar.final(asks.callId, "SUBSCRIBE");
    expect(ok.status).toBe(200);
    expect((await phone.request("SUBSCRIBE")).requestUri).toBe(phone.contact);
    registrar.send(asks.request("SUBSCRIBE", ok, ["Event: dialog", "Expires: 0"]), weir.listen);
    await registrar.receive("an answer", (m) => m.status === 200 && m.header("CSeq") === "2 SUBSCRIBE");
    const refreshes = phone.received.filter((m) => m.method === "SUBSCRIBE" && !m.status);
    expect(refreshes.map((m) => m.header("Expires"))).toEqual(["60", "0"]);
    phone.close();
  });

  it("is made by REFER where a policy names it, and ends with its last NOTIFY", async () => {
    const local = await weir.caller();
    const subscriber = await RawUa.open(local, ({ message, from }, ua) => {
      if (!message.status) ua.send(responseTo(message, 200, "OK", local), from);
    });
    const before = await weir.metric("weir_subscriptions");
    const asks = new RawCall(local, weir.listen, "100");
    subscriber.send(asks.first("REFER", ["Refer-To: <sip:200@y.example>"]), weir.listen);
    await subscriber.receive("an answer", (m) => m.status === 200 && m.method === "REFER");
    const refer = await registrar.receive("the REFER", (m) => !m.status && m.method === "REFER");
    expect(refer.header("Refer-To")).toBe("<sip:200@y.example>");
    expect(await weir.metric("weir_subscriptions")).toBe(before + 1);
    const place = { local: registrar.local, peer: weir.listen, cseq: 1 };
    registrar.send(notifyAfter(refer, "terminated;reason=noresource", place), weir.listen);
    const notified = await subscriber.receive("the NOTIFY", (m) => !m.status && m.method === "NOTIFY");
    expect(notified.header("Event")).toBe("refer");
    await expect.poll(() => weir.metric("weir_subscriptions"), { timeout: 9_000 }).toBe(before);
    subscriber.close();
  });
});
