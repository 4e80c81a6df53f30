import { afterAll, beforeAll, expect, it } from "vitest";
import { callThrough } from "../support/call-through.ts";
import { Holder } from "../support/held-call.ts";
import { answeringAgent, RawUa } from "../support/raw-ua.ts";
import { responseTo } from "../support/sip-text.ts";
import { describeWithSipp } from "../support/sipp.ts";
import { Weir } from "../support/weir.ts";

const talks = "uas-answer-and-bye";

describeWithSipp("policies on the running program", () => {
  let weir: Weir;

  beforeAll(async () => {
    weir = await Weir.start({
      agents: { any: {}, uk: {}, london: {}, first: { "max-outbound-sessions": 1 }, second: {} },
      routes: { "44": ["uk"], "4420": ["london"], "3": ["any"], "100": ["first", "second"] },
    });
  });
  afterAll(() => weir?.stop());

  it.each([
    ["44201", "london"],
    ["4421", "uk"],
    ["33", "any"],
  ])("%s goes to %s", async (number, agent) => {
    await callThrough(weir, { number, caller: "uac-answer-and-bye", agents: { [agent]: talks } });
  });

  it("a number that no policy is for is refused with 404", async () => {
    await callThrough(weir, { number: "999", caller: ["uac-refused", { keys: { code: 404 } }], agents: {} });
  });

  it("an explanation says who is skipped and why, and calls no one", async () => {
    const holder = await Holder.at(weir);
    const agents = [await answeringAgent(weir.agent("first")), await answeringAgent(weir.agent("second"))];
    await holder.call("100");
    const counts = async () => (await weir.agents()).map(({ sessions, exceeded }) => ({ sessions, exceeded }));
    const before = await counts();
    const { status, text } = await weir.get("/v1/explain?to=100&from=sip:33@192.0.2.1");
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({
      policies: [{ "to-address": "100", "next-hop": "SAG:for-100" }],
      candidates: [{ agent: "second", group: "for-100", policy: "local-policies[2]" }],
      skipped: [{ agent: "first", why: "C: max-outbound-sessions 1/1" }],
    });
    expect(await counts()).toEqual(before);
    expect(agents[1]?.received).toEqual([]);
    expect((await weir.get("/v1/explain")).status).toBe(400);
    expect((await weir.calls())[0]).toMatchObject({
      attempts: [{ agent: "first", policy: "local-policies[2]" }],
      route: { policies: [{ policy: "local-policies[2]", "to-address": "100" }] },
    });
    await holder.close();
    for (const agent of agents) agent.close();
    await weir.idle();
  });
});

describeWithSipp("numbers and headers on the running program", () => {
  let weir: Weir;

  beforeAll(async () => {
    weir = await Weir.start({
      agents: {
        carrier: { "out-translationid": "to-carrier", "out-header-rules": "marked", "in-header-rules": "quiet" },
        emptied: { "out-translationid": "nothing" },
        spare: {},
      },
      routes: { "0": ["carrier"], "5": ["emptied", "spare"], "6": ["emptied"] },
      more: {
        "translation-rules": [
          {
            id: "to-carrier",
            called: [{ type: "e164", "country-code": "44", "national-prefix": "0", "international-prefix": "00" }],
            calling: [{ type: "regex", pattern: "^raw$", value: "+4420" }],
          },
          { id: "nothing", called: [{ type: "strip", digits: 30 }] },
        ],
        "header-rules": [
          { id: "marked", rules: [{ action: "add", header: "X-Trunk", value: "weir", messages: "requests" }] },
          { id: "quiet", rules: [{ action: "remove", header: "Server" }] },
        ],
      },
    });
  });
  afterAll(() => weir?.stop());

  it("an agent is sent its own form of both numbers, and the headers that its rules add", async () => {
    const carrier = await answeringAgent(weir.agent("carrier"));
    const holder = await Holder.at(weir);
    expect((await holder.call("02012345")).status).toBe(200);
    const invite = await carrier.receive("an INVITE", (message) => message.method === "INVITE");
    expect(invite.requestUri).toMatch(/^sip:\+442012345@/);
    expect(invite.header("To")).toMatch(/<sip:\+442012345@/);
    expect(invite.header("From")).toMatch(/<sip:\+4420@/);
    expect(invite.header("X-Trunk")).toBe("weir");
    await holder.close();
    expect((await carrier.receive("a BYE", (message) => message.method === "BYE")).header("X-Trunk")).toBe("weir");
    carrier.close();
    await weir.idle();
  });

  it("an agent whose translation leaves nothing of the number is passed over", async () => {
    await callThrough(weir, { number: "55", caller: "uac-answer-and-bye", agents: { spare: talks } });
  });

  it("with no other agent the caller is told 484", async () => {
    const holder = await Holder.at(weir);
    expect((await holder.call("66")).startLine).toBe("SIP/2.0 484 Address Incomplete");
    await holder.close();
    await weir.idle();
  });
});

describeWithSipp("redirections on the running program", () => {
  let weir: Weir;
  const moving: RawUa[] = [];

  /** An agent that sends every caller on. */
  async function moves(agent: string, contact: () => string): Promise<RawUa> {
    const local = weir.agent(agent);
    const ua = await RawUa.open(local, ({ message, from }, self) => {
      if (message.method !== "INVITE") return;
      const moved = responseTo(message, 302, "Moved Temporarily", local);
      self.send(moved.replace(/^Contact:.*$/m, `Contact: ${contact()}`), from);
    });
    moving.push(ua);
    return ua;
  }
  const place = (agent: string) => `${weir.agent(agent).address}:${weir.agent(agent).port}`;

  beforeAll(async () => {
    weir = await Weir.start({
      agents: {
        back: {},
        on: { "redirect-action": "recurse" },
        circling: { "redirect-action": "recurse" },
        target: { "max-outbound-sessions": 1 },
        other: {},
      },
      routes: { "1": ["back"], "2": ["on"], "3": ["circling"] },
    });
    await moves("back", () => `<sip:700@${place("target")}>`);
    await moves("on", () => `<sip:700@${place("other")}>;q=0.1, <sip:700@${place("target")}>;q=0.9`);
    await moves("circling", () => `<sip:33@${place("circling")}>`);
  });
  afterAll(async () => {
    for (const ua of moving) ua.close();
    await weir?.stop();
  });

  it("are passed back with nothing of the agent's side in them", async () => {
    const holder = await Holder.at(weir);
    const final = await holder.call("11");
    expect(final.status).toBe(302);
    expect(final.header("Contact")).toBe(`<sip:700@${weir.listen.address}:${weir.listen.port}>`);
    await holder.close();
    await weir.idle();
  });

  it("are followed to the best Contact with room", async () => {
    const agents = [await answeringAgent(weir.agent("target")), await answeringAgent(weir.agent("other"))];
    const holder = await Holder.at(weir);
    expect((await holder.call("22")).status).toBe(200);
    await weir.sessions("target", "outbound", 1);
    expect((await holder.call("22")).status).toBe(200);
    await weir.sessions("other", "outbound", 1);
    expect(agents[0]?.received[0]?.message.requestUri).toMatch(/^sip:700@/);
    await holder.close();
    await weir.idle();
    for (const agent of agents) agent.close();
  });

  it("in a circle are 482, after one round", async () => {
    const holder = await Holder.at(weir);
    expect((await holder.call("33")).status).toBe(482);
    const invites = moving[2]?.received.filter(({ message }) => message.method === "INVITE");
    expect(invites).toHaveLength(1);
    await holder.close();
    await weir.idle();
  });
});

describeWithSipp("no attempt after the caller's CANCEL", () => {
  let weir: Weir;
  beforeAll(async () => {
    weir = await Weir.start({ agents: { rings: {}, next: {} }, routes: { "1": ["rings", "next"] } });
  });
  afterAll(() => weir?.stop());

  it("even when the agent then fails with 503 instead of 487", async () => {
    const local = weir.agent("rings");
    const rings = await RawUa.open(local, ({ message, from }, self) => {
      if (message.method === "INVITE") {
        self.send(responseTo(message, 180, "Ringing", local), from);
        invited = message;
      }
      if (message.method !== "CANCEL" || !invited) return;
      self.send(responseTo(message, 200, "OK", local), from);
      self.send(responseTo(invited, 503, "Service Unavailable", local), from);
    });
    let invited: Parameters<typeof responseTo>[0] | undefined;
    const next = await answeringAgent(weir.agent("next"));
    await callThrough(weir, { number: "11", caller: "uac-cancel-after-180", agents: {} });
    await rings.receive("the ACK to 503", (message) => message.method === "ACK");
    await weir.idle();
    expect(next.received).toEqual([]);
    rings.close();
    next.close();
  });
});
