import { afterEach, describe, expect, it } from "vitest";
import { Challenger, type Challenging } from "../support/challenger.ts";
import { Holder } from "../support/held-call.ts";
import { RawUa } from "../support/raw-ua.ts";
import { RawCall, responseTo, type SipText } from "../support/sip-text.ts";
import { Weir } from "../support/weir.ts";

const good: Challenging = {
  user: "weir",
  password: "geheim: ü",
  realm: "trunk",
  algorithm: "MD5",
  qop: true,
  status: 401,
};

let weir: Weir;
let trunk: Challenger;
let other: RawUa | undefined;

async function start(how: Partial<Challenging> = {}, params: Record<string, unknown> = {}): Promise<void> {
  process.env.WEIR_TEST_TRUNK_SECRET = good.password;
  weir = await Weir.start({
    agents: {
      trunk: { "auth-user": "weir", "auth-password-env": "WEIR_TEST_TRUNK_SECRET", ...params },
      spare: {},
    },
    routes: { "1": ["trunk"], "2": ["trunk", "spare"] },
  });
  trunk = await Challenger.at(weir.agent("trunk"), { ...good, ...how });
}

afterEach(async () => {
  await weir.idle();
  trunk.close();
  other?.close();
  other = undefined;
  await weir.stop();
  expect(weir.log).not.toContain("geheim");
});

describe.each([
  ["MD5", {}],
  ["SHA-256", { algorithm: "SHA-256" }],
  ["MD5 of RFC 2069", { qop: false }],
  ["MD5 from a proxy", { status: 407 }],
] as const)("a trunk that challenges with %s", (_, how) => {
  it("gets INVITE, re-INVITE and BYE with credentials, and the caller sees none of it", async () => {
    await start(how);
    const caller = await weir.caller();
    const ua = await RawUa.open(caller);
    const call = new RawCall(caller, weir.listen, "1");
    ua.send(call.invite(), weir.listen);
    const final = await ua.final(call.callId);
    ua.send(call.ack(final), weir.listen);
    expect(final.status).toBe(200);
    ua.send(withOffer(call.request("INVITE", final), call), weir.listen);
    const again = await ua.receive(
      "an answer to the re-INVITE",
      (m) => m.status >= 200 && m.header("CSeq") === "2 INVITE",
    );
    expect(again.status).toBe(200);
    ua.send(call.ack(again).replace("CSeq: 1 ACK", "CSeq: 2 ACK"), weir.listen);
    trunk.age();
    ua.send(call.request("BYE", final), weir.listen);
    await weir.idle();
    ua.close();
    const status = "status" in how ? how.status : 401;
    expect(trunk.story).toEqual([
      `INVITE ${status}`,
      "INVITE 200",
      `INVITE ${status}`,
      "INVITE 200",
      `BYE ${status}`,
      "BYE 200",
    ]);
    const [first, second] = trunk.heard.map(({ request }) => request);
    for (const name of ["Call-ID", "From"]) expect(second?.header(name)).toBe(first?.header(name));
    expect(numberOf(second)).toBe(numberOf(first) + 1);
    expect(ua.received.map(({ message }) => message.status)).not.toContain(status);
    expect((await weir.view("trunk")).state.letter).toBe("I");
  });
});

describe("a trunk that challenges", () => {
  it("gets credentials with the first request of later calls, and new ones when the nonce is stale", async () => {
    await start();
    const holder = await Holder.at(weir);
    for (let calls = 0; calls < 3; calls++) {
      expect((await holder.call("1")).status).toBe(200);
      if (calls === 1) trunk.age();
    }
    trunk.free.add("BYE");
    await holder.hangUp();
    await holder.close();
    expect(trunk.story.filter((line) => line.startsWith("INVITE"))).toEqual([
      "INVITE 401",
      "INVITE 200",
      "INVITE 200",
      "INVITE 401",
      "INVITE 200",
    ]);
    expect(trunk.heard.slice(0, 3).map(({ nc }) => nc)).toEqual(["", "00000001", "00000002"]);
  });

  it("that will not have our credentials is asked twice, the next agent takes the call, and else the caller gets 503", async () => {
    await start({ password: "another" });
    other = await RawUa.open(weir.agent("spare"), ({ message, from }, ua) => {
      if (!message.status && message.method !== "ACK")
        ua.send(responseTo(message, 200, "OK", weir.agent("spare")), from);
    });
    const holder = await Holder.at(weir);
    expect((await holder.call("2")).status).toBe(200);
    expect(trunk.story).toEqual(["INVITE 401", "INVITE 401"]);
    const refused = await holder.call("1");
    expect(refused.status).toBe(503);
    expect(refused.header("WWW-Authenticate")).toBe("");
    await holder.hangUp();
    await holder.close();
    expect((await weir.view("trunk")).state.letter).toBe("I");
  });

  it("for a realm that our credentials are not for gets none", async () => {
    await start({}, { "auth-realm": "elsewhere" });
    const holder = await Holder.at(weir);
    expect((await holder.call("1")).status).toBe(503);
    await holder.close();
    expect(trunk.story).toEqual(["INVITE 401"]);
  });
});

describe("a trunk that wants us registered", () => {
  const surrogate = { aor: "5551000", "contact-user": "dids", expires: 60, "retry-interval": 0.1 };
  const shown = async () => {
    const { text } = await weir.get("/v1/registrations");
    return (JSON.parse(text) as { surrogates: Record<string, unknown>[] }).surrogates;
  };

  it("is out of service until it has registered us, with credentials, and gets calls then", async () => {
    await start({ algorithm: "SHA-256" }, { "surrogate-registration": surrogate });
    await expect.poll(async () => (await weir.view("trunk")).state.letter, { timeout: 5_000 }).toBe("I");
    const view = JSON.parse((await weir.get("/v1/agents/trunk")).text) as {
      transitions: { to: string; reason: string; status?: number }[];
    };
    expect(view.transitions.at(-1)).toMatchObject({ to: "I", reason: "registered", status: 200 });
    expect(await shown()).toMatchObject([{ agent: "trunk", registered: true, failures: 0, failure: null }]);
    const register = trunk.heard.at(-1)?.request;
    expect(register?.header("Contact")).toBe(`<sip:dids@${weir.listen.address}:${weir.listen.port}>`);
    expect(register?.header("To")).toMatch(/^<sip:5551000@/);
    const holder = await Holder.at(weir);
    expect((await holder.call("1")).status).toBe(200);
    await holder.hangUp();
    await holder.close();
  });

  it("is out of service with that reason while it refuses, and is asked again", async () => {
    await start({}, { "surrogate-registration": surrogate });
    trunk.registered = () => ({ status: 403, headers: [] });
    await expect.poll(async () => (await shown())[0]?.failures, { timeout: 20_000 }).toBeGreaterThan(2);
    expect(await weir.view("trunk")).toMatchObject({ state: { letter: "O" }, reason: "registration" });
    const holder = await Holder.at(weir);
    expect((await holder.call("1")).status).toBe(503);
    await holder.close();
    trunk.registered = (register) => ({
      status: 200,
      headers: [`Contact: ${register.header("Contact")};expires=3`],
    });
    // Pauses between attempts grow, and so may they on a busy machine.
    await expect.poll(async () => (await weir.view("trunk")).state.letter, { timeout: 60_000 }).toBe("I");
    const before = trunk.heard.length;
    // Refreshed again and again, each time half a second before it expires.
    await expect.poll(() => trunk.heard.length, { timeout: 20_000 }).toBeGreaterThan(before + 1);
    expect((await weir.view("trunk")).state.letter).toBe("I");
    // Silence from here on: what was granted runs out.
    trunk.close();
    await expect.poll(async () => (await weir.view("trunk")).reason, { timeout: 20_000 }).toBe("registration");
  }, 120_000);

  it("asks for longer at once when told 423, and is told when we leave", async () => {
    await start({}, { "surrogate-registration": surrogate });
    trunk.registered = (register) =>
      Number(register.header("Expires")) < 600 && Number(register.header("Expires")) > 0
        ? { status: 423, headers: ["Min-Expires: 600"] }
        : { status: 200, headers: [`Expires: ${register.header("Expires")}`] };
    await expect.poll(async () => (await shown())[0]?.registered, { timeout: 5_000 }).toBe(true);
    expect(trunk.heard.at(-1)?.request.header("Expires")).toBe("600");
    await weir.stop();
    expect(trunk.heard.at(-1)?.request.header("Expires")).toBe("0");
    await start();
  });
});

const numberOf = (request: SipText | undefined): number => Number(request?.header("CSeq").split(" ")[0]);

/** A re-INVITE of the caller: with an offer and its Contact. */
function withOffer(text: string, { from }: RawCall): string {
  const offer = `v=0\r\no=raw 1 2 IN IP4 ${from.address}\r\ns=-\r\nc=IN IP4 ${from.address}\r\nt=0 0\r\nm=audio 40000 RTP/AVP 8\r\n`;
  const lines = `Contact: <sip:raw@${from.address}:${from.port}>\r\nContent-Type: application/sdp\r\nContent-Length: ${offer.length}`;
  return `${text.replace("Content-Length: 0", lines)}${offer}`;
}
