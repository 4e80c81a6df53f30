import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { links, Scene, sdp } from "./engine-scene.ts";
import { type App, RawPeer, type Rig, requestText } from "./engine-support.ts";

let scene: Scene;
let peer: RawPeer;
let rig: Rig;
let app: App;
let made = 0;

afterEach(() => scene.close());

describe.each(links)("dialogs of an application %s", (_, start) => {
  beforeEach(async () => {
    scene = await Scene.open(start);
    ({ peer, rig, app } = scene);
  });

  it("has its BYE held until its 200 is acknowledged", async () => {
    const { ok, dialogId } = await scene.answeredCall();
    const bye = await app.within(dialogId, "BYE");
    expect(peer.pending("BYE")).toBe(0);
    peer.send(requestText(peer.port, { method: "ACK", to: ok.header("to") ?? "" }), rig.port);
    peer.answer(await peer.next("BYE"), 200);
    await bye.next(200);
    await scene.nothingLeft();
  });

  it("takes and makes re-INVITEs, and glare is answered by 491", async () => {
    const { to, dialogId } = await scene.confirmedCall();
    peer.send(requestText(peer.port, { to, cseq: 2, body: "v=0 hold" }), rig.port);
    const hold = await app.next("INVITE");
    expect(hold.req).toMatchObject({ stackDialogId: dialogId, body: "v=0 hold" });
    await app.respond(hold, 200, sdp);
    await peer.next(200);
    peer.send(requestText(peer.port, { method: "ACK", to, cseq: 2 }), rig.port);
    expect((await app.next("ACK")).req.stackTxnId).not.toBe("");

    const sent = await app.within(dialogId, "INVITE", { body: "v=0 again" });
    const reinvite = await peer.next("INVITE");
    expect(reinvite).toMatchObject({
      body: "v=0 again",
      requestUri: `sip:caller@127.0.0.1:${peer.port}`,
      toTag: "caller",
    });
    peer.send(requestText(peer.port, { to, cseq: 3, branch: "z9hG4bKglare" }), rig.port);
    const glare = await peer.next(491);
    peer.send(requestText(peer.port, { method: "ACK", to, cseq: 3, branch: "z9hG4bKglare" }), rig.port);
    expect(glare.cseq).toBe(3);
    await expect(app.within(dialogId, "INVITE")).rejects.toThrow("an INVITE is in progress");
    peer.answer(reinvite, 180);
    await sent.next(180);
    peer.answer(reinvite, 200);
    (await sent.next(200)).ack();
    await peer.next("ACK");

    const refused = await app.within(dialogId, "INVITE");
    peer.answer(await peer.next("INVITE"), 488);
    await refused.next(488);
    await app.within(dialogId, "BYE");
    peer.answer(await peer.next("BYE"), 200);
    await scene.nothingLeft();
  });

  it("relays the requests of a dialog both ways: INFO, MESSAGE, OPTIONS, UPDATE, REFER, NOTIFY", async () => {
    const { dialogId, invite } = await scene.confirmedOutgoingCall();
    let cseq = 100;
    for (const method of ["INFO", "MESSAGE", "OPTIONS", "UPDATE", "REFER", "NOTIFY"]) {
      const sent = await app.within(dialogId, method, {
        headers: { "Content-Type": "text/plain", "Refer-To": "<sip:c@x>" },
        body: "hi",
      });
      const request = await peer.next(method);
      expect(request.body).toBe("hi");
      peer.answer(request, 202);
      expect((await sent.next(202)).res.stackDialogId).toBe(dialogId);

      peer.send(scene.peersRequest(invite, method, cseq++, ["Content-Type: text/plain"], "ho"), rig.port);
      const received = await app.next(method);
      expect(received.req).toMatchObject({ stackDialogId: dialogId, body: "ho" });
      await app.respond(received, 202);
      expect((await peer.next(202)).method).toBe(method);
    }
    peer.send(scene.peersRequest(invite, "BYE", cseq), rig.port);
    await app.respond(await app.next("BYE"), 200);
    await peer.next(200);
    await scene.nothingLeft();
  });

  it("moves the target with a re-INVITE or UPDATE of the peer", async () => {
    const { dialogId, invite } = await scene.confirmedOutgoingCall();
    const moved = await RawPeer.open();
    const update = scene
      .peersRequest(invite, "UPDATE", 7)
      .replace(`peer@127.0.0.1:${peer.port}`, `peer@127.0.0.1:${moved.port}`);
    peer.send(update, rig.port);
    await app.respond(await app.next("UPDATE"), 200);
    await peer.next(200);
    await app.within(dialogId, "BYE");
    moved.answer(await moved.next("BYE"), 200);
    await scene.nothingLeft();
    moved.close();
  });

  it("follows the route set of a proxy", async () => {
    const { sent, invite } = await scene.outgoingCall();
    const route = `<sip:127.0.0.1:${peer.port};lr;proxy=1>`;
    peer.answer(invite, 200, { headers: ["Record-Route: <sip:far.invalid;lr>", `Record-Route: ${route}`] });
    (await sent.next(200)).ack();
    const ack = await peer.next("ACK");
    expect(ack.headers("route")).toEqual([route, "<sip:far.invalid;lr>"]);
    expect(ack.requestUri).toBe(`sip:peer@127.0.0.1:${peer.port}`);
    await app.within(`${invite.callId};from-tag=${invite.fromTag}`, "BYE");
    peer.answer(await peer.next("BYE"), 200);
    await scene.nothingLeft();
  });

  it("rings reliably: RSeq, repetition until PRACK, and the PRACK is shown", async () => {
    peer.send(requestText(peer.port, { headers: ["Supported: 100rel"] }), rig.port);
    const call = await app.next("INVITE");
    await app.respond(call, 183, { headers: { Require: "100rel" }, body: "v=0 early" });
    const early = await peer.next(183);
    await peer.next(183);
    const rseq = early.header("rseq");
    expect(Number(rseq)).toBeGreaterThan(0);
    expect(early.header("contact")).toBeDefined();
    const to = early.header("to") ?? "";
    peer.send(requestText(peer.port, { method: "PRACK", to, cseq: 2, headers: ["RAck: 1 1 INVITE"] }), rig.port);
    expect((await peer.next(481)).method).toBe("PRACK");
    peer.send(requestText(peer.port, { method: "PRACK", to, cseq: 3, headers: [`RAck: ${rseq} 1 INVITE`] }), rig.port);
    const prack = await app.next("PRACK");
    expect(prack.req.stackDialogId).toBe(`call-${peer.port};from-tag=caller`);
    await app.respond(prack, 200);
    expect((await peer.next(200)).method).toBe("PRACK");
    await app.respond(call, 486);
    const busy = await peer.next(486);
    peer.send(requestText(peer.port, { method: "ACK", to: busy.header("to") ?? "" }), rig.port);
    await scene.nothingLeft();
  });

  it("may not ring reliably to a peer without 100rel", async () => {
    peer.send(requestText(peer.port), rig.port);
    const call = await app.next("INVITE");
    await expect(app.respond(call, 183, { headers: { Require: "100rel" } })).rejects.toThrow("does not support 100rel");
    await app.respond(call, 486);
    await peer.next(486);
  });

  it("acknowledges a reliable provisional response by PRACK within the early dialog", async () => {
    const { sent, invite } = await scene.outgoingCall({ headers: { Supported: "100rel" } });
    peer.answer(invite, 183, { headers: ["Require: 100rel", "RSeq: 17"] });
    const { ack } = await sent.next(183);
    ack();
    const prack = await peer.next("PRACK");
    expect(prack.header("rack")).toBe(`17 ${invite.cseq} INVITE`);
    expect(prack).toMatchObject({ cseq: invite.cseq + 1, toTag: "peer" });
    peer.answer(prack, 200);
    peer.answer(invite, 200);
    const { res, ack: acknowledge } = await sent.next(200);
    acknowledge();
    // The ACK has the number of its INVITE, although a PRACK came between.
    expect((await peer.next("ACK")).cseq).toBe(invite.cseq);
    await app.within(res.stackDialogId, "BYE");
    peer.answer(await peer.next("BYE"), 200);
    await scene.nothingLeft();
  });

  it("passes on no reliable provisional response that is repeated or out of order (RFC 3262 section 4)", async () => {
    const { sent, invite } = await scene.outgoingCall({ headers: { Supported: "100rel" } });
    const reliably = (status: number, rseq: number) =>
      peer.answer(invite, status, { headers: ["Require: 100rel", `RSeq: ${rseq}`] });
    reliably(183, 17);
    reliably(183, 17);
    reliably(180, 19);
    reliably(182, 18);
    await sent.next(183);
    await sent.next(182);
    expect([sent.count(183), sent.count(180)]).toEqual([0, 0]);
    peer.answer(invite, 486);
    await sent.next(486);
    await scene.nothingLeft();
  });

  it("keeps a subscription of the peer, and one of its own, until the last NOTIFY", async () => {
    peer.send(requestText(peer.port, { method: "SUBSCRIBE", headers: ["Event: presence"] }), rig.port);
    const subscription = await app.next("SUBSCRIBE");
    await app.respond(subscription, 202, { headers: { Expires: "60" } });
    await peer.next(202);
    const last = await app.within(subscription.res.stackDialogId, "NOTIFY", {
      headers: { Event: "presence", "Subscription-State": "terminated;reason=timeout" },
    });
    peer.answer(await peer.next("NOTIFY"), 200);
    await last.next(200);
    expect(rig.engine.counters.alive.dialogs).toBe(0);

    const sent = await app.request({
      uri: `sip:127.0.0.1:${peer.port}`,
      method: "SUBSCRIBE",
      headers: { Event: "presence" },
    });
    const subscribe = await peer.next("SUBSCRIBE");
    // The first NOTIFY may overtake the answer.
    peer.send(scene.peersRequest(subscribe, "NOTIFY", 1, ["Event: presence", "Subscription-State: active"]), rig.port);
    const first = await app.next("NOTIFY");
    await app.respond(first, 200);
    peer.answer(subscribe, 200);
    const { res } = await sent.next(200);
    expect(first.req.stackDialogId).toBe(res.stackDialogId);
    peer.send(
      scene.peersRequest(subscribe, "NOTIFY", 2, ["Event: presence", "Subscription-State: terminated"]),
      rig.port,
    );
    await app.respond(await app.next("NOTIFY"), 200);
    await scene.nothingLeft();
  });

  it.each([403, 408])("forgets a subscription that a NOTIFY began and SUBSCRIBE did not: %i", async (status) => {
    const sent = await app.request({ uri: `sip:127.0.0.1:${peer.port}`, method: "SUBSCRIBE" });
    const subscribe = await peer.next("SUBSCRIBE");
    const notify = scene.peersRequest(subscribe, "NOTIFY", 1, ["Subscription-State: active"]);
    peer.send(notify, rig.port);
    await app.respond(await app.next("NOTIFY"), 200);
    peer.send(notify.replace("branch=z9hG4bK", "$&fork").replace("tag=peer", "$&fork"), rig.port);
    await app.respond(await app.next("NOTIFY"), 200);
    // Without an answer the engine gives one after timer F.
    if (status !== 408) peer.answer(subscribe, status);
    await sent.next(status);
    await scene.nothingLeft();
  });

  it("forgets a subscription with the last NOTIFY, though the answer comes after it", async () => {
    const sent = await app.request({ uri: `sip:127.0.0.1:${peer.port}`, method: "SUBSCRIBE" });
    const subscribe = await peer.next("SUBSCRIBE");
    peer.send(scene.peersRequest(subscribe, "NOTIFY", 1, ["Subscription-State: terminated"]), rig.port);
    await app.respond(await app.next("NOTIFY"), 200);
    peer.answer(subscribe, 200);
    await sent.next(200);
    expect(rig.engine.counters.alive.dialogs).toBe(0);
    await scene.nothingLeft();
  });

  it.each([481, 408])("forgets a subscription of which the other side knows no more: %i", async (status) => {
    const granted = async (): Promise<string> => {
      peer.send(requestText(peer.port, { method: "SUBSCRIBE", callId: `sub-${++made}` }), rig.port);
      const subscription = await app.next("SUBSCRIBE");
      await app.respond(subscription, 200, { headers: { Expires: "3600" } });
      await peer.next(200);
      return subscription.res.stackDialogId;
    };
    const notify = await app.within(await granted(), "NOTIFY", { headers: { "Subscription-State": "active" } });
    // Without an answer the engine gives one after timer F.
    if (status !== 408) peer.answer(await peer.next("NOTIFY"), status);
    await notify.next(status);
    expect(rig.engine.counters.alive.dialogs).toBe(0);

    const sent = await app.request({ uri: `sip:127.0.0.1:${peer.port}`, method: "SUBSCRIBE" });
    const subscribe = await peer.next("SUBSCRIBE");
    peer.answer(subscribe, 200);
    await sent.next(200);
    expect(rig.engine.counters.alive.dialogs).toBe(1);
    peer.send(scene.peersRequest(subscribe, "NOTIFY", 1, ["Subscription-State: active"]), rig.port);
    await app.respond(await app.next("NOTIFY"), status);
    await scene.nothingLeft();
  });

  it("finds an old request of the peer answered by 500", async () => {
    const { invite } = await scene.confirmedOutgoingCall();
    peer.send(scene.peersRequest(invite, "INFO", 9), rig.port);
    await app.respond(await app.next("INFO"), 200);
    await peer.next(200);
    peer.send(scene.peersRequest(invite, "INFO", 8), rig.port);
    await peer.next(500);
  });

  it("forgets a subscription whose time is over, though no last NOTIFY comes", async () => {
    peer.send(requestText(peer.port, { method: "SUBSCRIBE", headers: ["Event: presence", "Expires: 3600"] }), rig.port);
    const subscription = await app.next("SUBSCRIBE");
    await app.respond(subscription, 200, { headers: { Expires: "0" } });
    await peer.next(200);
    expect(rig.engine.counters.alive.dialogs).toBe(1);
    await scene.nothingLeft();
  });
});
