import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Holder } from "../support/held-call.ts";
import { answeringAgent, RawUa } from "../support/raw-ua.ts";
import { RawCall, responseTo } from "../support/sip-text.ts";
import { Weir } from "../support/weir.ts";

describe("calls that both sides leave without BYE", () => {
  let weir: Weir;
  let agent: RawUa | undefined;
  let caller: Holder | undefined;

  beforeAll(async () => {
    weir = await Weir.start({
      agents: { carrier: {} },
      routes: { "100": ["carrier"] },
      t1: 50,
      more: { sessions: { "dialog-ping-interval": 1, "max-life-limit": 10 } },
    });
  });
  afterEach(async () => {
    agent?.close();
    await caller?.close();
    [agent, caller] = [undefined, undefined];
    await weir.idle(20_000);
  });
  afterAll(() => weir?.stop());

  it("end by the session timer they agreed on, with BYE to both (RFC 4028)", async () => {
    agent = await RawUa.open(weir.agent("carrier"), ({ message, from }, ua) => {
      if (message.status !== 0 || message.method === "ACK") return;
      const ok = responseTo(message, 200, "OK", ua.local);
      const timed =
        message.method === "INVITE" ? ok.replace("\r\nCSeq:", "\r\nSession-Expires: 1;refresher=uac\r\nCSeq:") : ok;
      ua.send(timed, from);
    });
    caller = await Holder.at(weir);
    const answer = await caller.call("100");
    expect(answer.header("Session-Expires")).toBe("1;refresher=uac");
    await agent.receive("BYE", ({ method, status }) => method === "BYE" && status === 0);
    await expect.poll(() => caller?.requests.filter(({ method }) => method === "BYE")).toHaveLength(1);
    await expect.poll(() => weir.log).toContain('"end":"session-expired"');
  });

  it("end when a side that has gone no longer answers OPTIONS, with BYE to the other", async () => {
    agent = await answeringAgent(weir.agent("carrier"));
    let deaf = false;
    const leaving = await RawUa.open(await weir.caller(), ({ message, from }, ua) => {
      if (message.status === 0 && message.method !== "ACK" && !deaf)
        ua.send(responseTo(message, 200, "OK", ua.local), from);
    });
    const call = new RawCall(leaving.local, weir.listen, "100");
    leaving.send(call.invite(), weir.listen);
    leaving.send(call.ack(await leaving.final(call.callId)), weir.listen);
    // Both are asked, and answer.
    await agent.receive("OPTIONS", ({ method }) => method === "OPTIONS");
    await leaving.receive("OPTIONS", ({ method }) => method === "OPTIONS");
    await weir.sessions("carrier", "outbound", 1);
    deaf = true;
    await agent.receive("BYE", ({ method, status }) => method === "BYE" && status === 0);
    await expect.poll(() => weir.log).toContain('"end":"dialog-gone"');
    leaving.close();
  });

  it("end when they have lasted for as long as any may", async () => {
    agent = await answeringAgent(weir.agent("carrier"));
    caller = await Holder.at(weir);
    await caller.call("100");
    await expect
      .poll(() => caller?.requests.filter(({ method }) => method === "BYE"), { timeout: 40_000 })
      .toHaveLength(1);
    await expect.poll(() => weir.log).toContain('"end":"life-limit"');
  });
});
