import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { links, Scene } from "./engine-scene.ts";
import { App, RawPeer, type Rig, requestText, virtualRig } from "./engine-support.ts";

let scene: Scene;
let peer: RawPeer;
let rig: Rig;
let app: App;

describe.each(links)("what goes wrong for an application %s", (_, start) => {
  beforeEach(async () => {
    scene = await Scene.open(start);
    ({ peer, rig, app } = scene);
  });
  afterEach(() => scene.close());

  it("gets a final response when the peer falls silent after the CANCEL", async () => {
    const { sent, invite } = await scene.outgoingCall();
    peer.answer(invite, 180);
    await sent.next(180);
    sent.req.cancel({}, () => {});
    await peer.next("CANCEL");
    expect((await sent.next(408)).res.source_address).toBe("");
    await scene.nothingLeft();
  });

  it("sees a 200 that crossed its CANCEL, and the engine hangs up after the ACK", async () => {
    const { sent, invite } = await scene.outgoingCall();
    peer.answer(invite, 180);
    await sent.next(180);
    sent.req.cancel({}, () => {});
    peer.answer(await peer.next("CANCEL"), 200);
    peer.answer(invite, 200);
    const { res, ack } = await sent.next(200);
    ack();
    await peer.next("ACK");
    peer.answer(await peer.next("BYE"), 200);
    const { req } = await app.next("BYE");
    expect(req).toMatchObject({ source: "application", stackTxnId: "unsolicited", stackDialogId: res.stackDialogId });
    await scene.nothingLeft();
  });

  it("gets 408 without address for a silent peer, and 503 without address for a closed port", async () => {
    const { sent } = await scene.outgoingCall();
    expect((await sent.next(408)).res).toMatchObject({
      source_address: "",
      stackDialogId: expect.stringContaining("from-tag="),
    });
    const options = await app.request({ uri: `sip:127.0.0.1:${peer.port}`, method: "OPTIONS" });
    expect((await options.next(408)).res).toMatchObject({ source_address: "", stackDialogId: "" });
    const closed = await RawPeer.open();
    const { port } = closed;
    closed.close();
    for (const transport of ["udp", "tcp"]) {
      const refused = await app.request({ uri: `sip:127.0.0.1:${port};transport=${transport}`, method: "INVITE" });
      expect((await refused.next(503)).res).toMatchObject({
        source_address: "",
        reason: transport === "udp" ? "port closed, told by ICMP (ECONNREFUSED)" : "connection refused (ECONNREFUSED)",
      });
    }
    await scene.nothingLeft();
  });

  it("gets 503 without address for a name that does not resolve", async () => {
    const sent = await app.request({ uri: "sip:nowhere.invalid", method: "OPTIONS" });
    expect((await sent.next(503)).res).toMatchObject({ source_address: "", reason: "DNS Error" });
  });

  it("is refused what cannot be sent, in the words drachtio-server uses", async () => {
    const uri = `sip:127.0.0.1:${peer.port}`;
    await expect(app.request({ uri: "tel:+331234", method: "OPTIONS" })).rejects.toThrow(
      "invalid request-uri: OPTIONS",
    );
    await expect(app.request({ uri: `sip:127.0.0.1:${rig.port}`, method: "INVITE" })).rejects.toThrow(
      "can not send request to myself",
    );
    await expect(app.request({ uri: `${uri};transport=tls`, method: "OPTIONS" })).rejects.toThrow(
      "requested protocol/transport not available",
    );
    await expect(app.request({ uri, method: "MESSAGE", body: "hello" })).rejects.toThrow("missing content-type");
    await expect(app.within("no-such-dialog", "BYE")).rejects.toMatchObject({ code: "ENODIALOG" });
    expect(peer.received).toHaveLength(0);
  });

  it("never hears of the answer of a second fork, which is acknowledged and hung up", async () => {
    const { sent, invite } = await scene.outgoingCall();
    peer.answer(invite, 180, { toTag: "one" });
    peer.answer(invite, 180, { toTag: "two" });
    const ids = new Set([(await sent.next(180)).res.stackDialogId, (await sent.next(180)).res.stackDialogId]);
    expect(ids.size).toBe(2);
    peer.answer(invite, 200, { toTag: "two" });
    const { res, ack } = await sent.next(200);
    expect(ids).toContain(res.stackDialogId);
    ack();
    expect((await peer.next("ACK")).toTag).toBe("two");
    peer.answer(invite, 200, { toTag: "one" });
    expect((await peer.next("ACK")).toTag).toBe("one");
    const killed = await peer.next("BYE");
    expect(killed.toTag).toBe("one");
    peer.answer(killed, 200);
    expect(sent.count(200)).toBe(0);
    await app.within(res.stackDialogId, "BYE");
    peer.answer(await peer.next("BYE"), 200);
    await scene.nothingLeft();
  });

  it("has the call ended for it when its 200 is never acknowledged", async () => {
    const { dialogId } = await scene.answeredCall();
    await peer.next(200);
    const bye = await peer.next("BYE");
    expect(bye.header("reason")).toContain("ACK timeout");
    peer.answer(bye, 200);
    expect((await app.next("BYE")).req).toMatchObject({ stackTxnId: "unsolicited", stackDialogId: dialogId });
    await scene.nothingLeft();
  });

  it("has the call ended for it when it does not acknowledge a 200", async () => {
    const { sent, invite } = await scene.outgoingCall();
    peer.answer(invite, 200);
    await sent.next(200);
    await peer.next("ACK");
    peer.answer(await peer.next("BYE"), 200);
    expect((await app.next("BYE")).req.stackTxnId).toBe("unsolicited");
    await scene.nothingLeft();
  });

  it("is not troubled by requests for dialogs that are not there", async () => {
    for (const method of ["BYE", "UPDATE", "PRACK", "INFO"]) {
      peer.send(requestText(peer.port, { method, callId: "gone", to: "<sip:svc@127.0.0.1>;tag=gone" }), rig.port);
      expect((await peer.next(481)).method).toBe(method);
    }
    peer.send(requestText(peer.port, { method: "BYE", callId: "never" }), rig.port);
    await peer.next(481);
    peer.send(requestText(peer.port, { method: "ACK", callId: "never" }), rig.port);
    await scene.nothingLeft();
    expect(app.count("BYE")).toBe(0);
  });

  it.each(["INVITE", "SUBSCRIBE", "REFER"])(
    "never sees a %s that says no Contact, unless its client is of RFC 2543",
    async (method) => {
      const without = (options: Parameters<typeof requestText>[1]) =>
        requestText(peer.port, { method, ...options }).replace(/^Contact:.*\r\n/m, "");
      peer.send(without({}), rig.port);
      await peer.next(400);
      expect(app.count(method)).toBe(0);
      peer.send(without({ branch: "old", callId: "old" }), rig.port);
      await app.respond(await app.next(method), 486);
      await peer.next(486);
    },
  );

  it("leaves a request unanswered: the engine answers 500 before the peer gives up", async () => {
    peer.send(requestText(peer.port, { method: "OPTIONS" }), rig.port);
    const late = await app.next("OPTIONS");
    await peer.next(500);
    await expect(app.respond(late, 200)).rejects.toThrow("unknown transaction");
    await scene.nothingLeft();
  });

  it("has longer for an INVITE, whose caller was told 100: it may be trying one silent next hop after another", async () => {
    peer.send(requestText(peer.port, { callId: "slow" }), rig.port);
    const slow = await app.next("INVITE");
    peer.send(requestText(peer.port, { method: "OPTIONS" }), rig.port);
    await app.next("OPTIONS");
    await peer.next(500);
    await app.respond(slow, 486);
    expect((await peer.next(486)).callId).toBe("slow");
  });

  it("sees a call that its caller gives up by BYE before the answer as cancelled", async () => {
    peer.send(requestText(peer.port), rig.port);
    const call = await app.next("INVITE");
    const cancelled = new Promise((resolve) => call.req.on("cancel", resolve));
    await app.respond(call, 180);
    const ringing = await peer.next(180);
    peer.send(requestText(peer.port, { method: "BYE", cseq: 2, to: ringing.header("to") ?? "" }), rig.port);
    expect((await peer.next(200)).method).toBe("BYE");
    const terminated = await peer.next(487);
    expect(terminated.method).toBe("INVITE");
    await cancelled;
    expect(app.count("BYE")).toBe(0);
  });
});

describe("a request for a name that leads nowhere", () => {
  it("is told in the log by that name", async () => {
    const told: object[] = [];
    rig = await virtualRig({}, { log: { warn: (detail: object) => told.push(detail), debug: () => {} } });
    try {
      const sent = await new App(rig.srf).request({ uri: "sip:100@nowhere.invalid", method: "INVITE" });
      await sent.next(503);
      const reason = "no address for the name";
      expect(told).toEqual([{ peer: "nowhere.invalid", method: "INVITE", "call-id": expect.any(String), reason }]);
    } finally {
      await rig.close();
    }
  });
});
