import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { links, Scene, sdp } from "./engine-scene.ts";
import { type App, type RawPeer, type Rig, requestText } from "./engine-support.ts";

let scene: Scene;
let peer: RawPeer;
let rig: Rig;
let app: App;

afterEach(() => scene.close());

describe.each(links)("calls of an application %s", (_, start) => {
  beforeEach(async () => {
    scene = await Scene.open(start);
    ({ peer, rig, app } = scene);
  });

  it("takes a call: 100 at once, its 180 and 200, the ACK and the BYE", async () => {
    peer.send(requestText(peer.port, { body: "v=0 peer" }), rig.port);
    await peer.next(100);
    const call = await app.next("INVITE");
    expect(call.req).toMatchObject({
      source: "network",
      source_address: "127.0.0.1",
      protocol: "udp",
      body: "v=0 peer",
    });
    expect(call.req.receivedOn).toBe(`127.0.0.1:${rig.port}`);
    await app.respond(call, 180);
    const ringing = await peer.next(180);
    await app.respond(call, 200, sdp);
    const ok = await peer.next(200);
    expect(ok.toTag).toBe(ringing.toTag);
    expect(ok.body).toBe("v=0 app");
    expect(ok.header("contact")).toBe(`<sip:127.0.0.1:${rig.port}>`);
    const to = ok.header("to") ?? "";
    const dialogId = `call-${peer.port};from-tag=caller`;
    peer.send(requestText(peer.port, { method: "ACK", to, body: "v=0 ack" }), rig.port);
    const { req: ack } = await app.next("ACK");
    expect(ack).toMatchObject({ stackDialogId: dialogId, stackTxnId: call.req.stackTxnId, body: "v=0 ack" });
    peer.send(requestText(peer.port, { method: "BYE", to, cseq: 2 }), rig.port);
    const bye = await app.next("BYE");
    expect(bye.req.stackDialogId).toBe(dialogId);
    await app.respond(bye, 200);
    await peer.next(200);
    await scene.nothingLeft(true);
  });

  it("makes a call by the Route that it gives, which all of the transaction passes", async () => {
    const routes = [`<sip:edge@127.0.0.1:${peer.port};lr>`, "<sip:far.invalid;lr;x=1>"];
    // Received with it, and passed here (RFC 3261 section 16.4).
    const own = `<sip:127.0.0.1:${rig.port};lr>`;
    const uri = "sip:svc@192.0.2.1:5999;x=y";
    for (const Route of [routes.join(", "), [own, ...routes].join(",")]) {
      const { sent, invite } = await scene.outgoingCall({ uri, headers: { Route } });
      expect([invite.requestUri, invite.headers("route")]).toEqual([uri, routes]);
      peer.answer(invite, 180);
      await sent.next(180);
      sent.req.cancel({}, () => {});
      const cancel = await peer.next("CANCEL");
      expect([cancel.requestUri, cancel.headers("route")]).toEqual([uri, routes]);
      peer.answer(cancel, 200);
      peer.answer(invite, 487);
      await sent.next(487);
      expect((await peer.next("ACK")).headers("route")).toEqual(routes);
    }
    await scene.nothingLeft();
  });

  it("gives any other request a Route, and sends it to the next hop of its own choice where it has one", async () => {
    const Route = "<sip:far.invalid;lr>";
    const proxy = `sip:127.0.0.1:${peer.port}`;
    const sent = await app.request({ uri: "sip:svc@192.0.2.1", method: "MESSAGE", proxy, headers: { Route } });
    const message = await peer.next("MESSAGE");
    expect(message.headers("route")).toEqual([Route]);
    peer.answer(message, 200);
    await sent.next(200);
  });

  it("shows a strict router its own URI in the request line (RFC 2543)", async () => {
    const strict = `sip:strict@127.0.0.1:${peer.port}`;
    const headers = { Route: `<${strict}>, <sip:far.invalid;lr>` };
    const sent = await app.request({ uri: "sip:svc@192.0.2.1", method: "OPTIONS", headers });
    const options = await peer.next("OPTIONS");
    expect(options.requestUri).toBe(strict);
    expect(options.headers("route")).toEqual(["<sip:far.invalid;lr>", "<sip:svc@192.0.2.1>"]);
    peer.answer(options, 200);
    await sent.next(200);
  });

  it.each(["<sip:>", "<tel:1>", ", ,", "<sip:far.invalid;lr>, x"])("is refused a Route of %j", async (Route) => {
    const asked = app.request({ uri: `sip:svc@127.0.0.1:${peer.port}`, method: "INVITE", headers: { Route } });
    await expect(asked).rejects.toThrow("invalid route");
  });

  it("leaves out angle brackets, and its From, To and Contacts have them all the same", async () => {
    const contacts = "sip:me@localhost;q=1, sip:a@192.0.2.1";
    const { sent, invite } = await scene.outgoingCall({
      headers: { From: "sip:me@localhost;x=1", To: "sip:you@192.0.2.2", Contact: contacts },
    });
    const ours = `127.0.0.1:${rig.port}`;
    expect(invite.header("from")).toMatch(new RegExp(`^<sip:me@${ours}>;x=1;tag=\\w+$`));
    expect(invite.header("to")).toBe("<sip:you@192.0.2.2>");
    expect(invite.headerValues("contact")).toEqual([`<sip:me@${ours}>;q=1`, "<sip:a@192.0.2.1>"]);
    peer.answer(invite, 486);
    await sent.next(486);
    peer.send(requestText(peer.port), rig.port);
    const call = await app.next("INVITE");
    await app.respond(call, 302, { headers: { Contact: contacts } });
    const answered = await peer.next(302);
    expect(answered.headerValues("contact")).toEqual([`<sip:me@${ours}>;q=1`, "<sip:a@192.0.2.1>"]);
  });

  it("makes a call, hangs up, and its headers and bodies go out as it wrote them", async () => {
    const { sent, invite } = await scene.outgoingCall({
      headers: {
        From: "<sip:me@localhost>",
        "X-Trunk": "a,b",
        "p-asserted-identity": "<sip:me@localhost>",
        "Record-Route": "<sip:x>",
      },
    });
    expect(invite.header("from")).toMatch(new RegExp(`^<sip:me@127.0.0.1:${rig.port}>;tag=\\w+$`));
    expect(invite.text).toContain("\r\nP-Asserted-Identity: <sip:me@127.0.0.1");
    expect(invite.header("x-trunk")).toBe("a,b");
    expect(invite.header("record-route")).toBeUndefined();
    expect(invite.header("content-type")).toBe("application/sdp");
    peer.answer(invite, 180, { headers: ["X-Early: yes"] });
    expect((await sent.next(180)).res.get("X-Early")).toBe("yes");
    peer.answer(invite, 200, { headers: ["Content-Type: application/sdp"], body: "v=0 peer" });
    const { res, ack } = await sent.next(200);
    expect(res).toMatchObject({ source_address: "127.0.0.1", source_port: peer.port, body: "v=0 peer" });
    expect(res.stackDialogId).toBe(`${invite.callId};from-tag=${invite.fromTag}`);
    ack({ body: "v=0 late", headers: { "Content-Type": "application/sdp" } });
    const acknowledged = await peer.next("ACK");
    expect(acknowledged).toMatchObject({
      body: "v=0 late",
      cseq: invite.cseq,
      requestUri: `sip:peer@127.0.0.1:${peer.port}`,
    });
    const bye = await app.within(res.stackDialogId, "BYE", { headers: { Reason: "Q.850;cause=16" } });
    const received = await peer.next("BYE");
    expect(received).toMatchObject({ cseq: invite.cseq + 1, toTag: "peer" });
    expect(received.header("reason")).toBe("Q.850;cause=16");
    peer.answer(received, 200);
    await bye.next(200);
    await scene.nothingLeft();
  });

  it("is told that the caller cancelled, before any answer and after 180", async () => {
    for (const [n, ring] of [false, true].entries()) {
      const call = { callId: `cancelled-${n}`, branch: `z9hG4bKcancelled${n}` };
      peer.send(requestText(peer.port, call), rig.port);
      const received = await app.next("INVITE");
      const cancelled = new Promise((resolve) => received.req.on("cancel", resolve));
      if (ring) await app.respond(received, 180);
      peer.send(requestText(peer.port, { ...call, method: "CANCEL", headers: ["Reason: SIP;cause=200"] }), rig.port);
      await cancelled;
      expect((await peer.next(200)).method).toBe("CANCEL");
      const terminated = await peer.next(487);
      peer.send(requestText(peer.port, { ...call, method: "ACK", to: terminated.header("to") ?? "" }), rig.port);
      await expect(app.respond(received, 200)).rejects.toThrow("unknown transaction");
    }
    await scene.nothingLeft();
  });

  it("cancels its call: held until the first provisional response, and ended by 487", async () => {
    const { sent, invite } = await scene.outgoingCall();
    await new Promise((resolve) => sent.req.cancel({ headers: { Reason: "SIP;cause=26" } }, resolve));
    expect(peer.pending("CANCEL")).toBe(0);
    peer.answer(invite, 100);
    const cancel = await peer.next("CANCEL");
    expect(cancel.branch).toBe(invite.branch);
    expect(cancel.header("reason")).toBe("SIP;cause=26");
    peer.answer(cancel, 200);
    peer.answer(invite, 487);
    expect((await sent.next(487)).res.source_address).toBe("127.0.0.1");
    await peer.next("ACK");
    await scene.nothingLeft();
  });

  it("sends by way of the next hop it chose, with the Request-URI unchanged", async () => {
    await app.request({ uri: "sip:bob@example.invalid", method: "MESSAGE", proxy: `sip:127.0.0.1:${peer.port}` });
    const message = await peer.next("MESSAGE");
    expect(message.requestUri).toBe("sip:bob@example.invalid");
    expect(message.header("route")).toBeUndefined();
    peer.answer(message, 200);
    await scene.nothingLeft();
  });

  it("answers a challenge with the same Call-ID and From tag and the next CSeq", async () => {
    const { sent, invite } = await scene.outgoingCall({ auth: { username: "u", password: "p" } });
    peer.answer(invite, 401, { headers: ['WWW-Authenticate: Digest realm="r", nonce="n"'] });
    const again = await peer.next("INVITE");
    expect(again).toMatchObject({ callId: invite.callId, fromTag: invite.fromTag, cseq: invite.cseq + 1 });
    expect(again.header("authorization")).toMatch(/^Digest username="u"/);
    peer.answer(again, 486);
    await vi.waitFor(() => expect(peer.pending("ACK")).toBe(2));
    await scene.nothingLeft();
    expect(sent.count(401)).toBe(0);
  });

  it("hears once of a repeated 200, whose ACK is sent again", async () => {
    const { sent, invite } = await scene.outgoingCall();
    peer.answer(invite, 200);
    peer.answer(invite, 200);
    const { ack, res } = await sent.next(200);
    ack();
    await peer.next("ACK");
    peer.answer(invite, 200);
    await peer.next("ACK");
    expect(sent.count(200)).toBe(0);
    const bye = await app.within(res.stackDialogId, "BYE");
    peer.answer(await peer.next("BYE"), 200);
    await bye.next(200);
    await scene.nothingLeft();
  });
});
