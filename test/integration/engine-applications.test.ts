import net from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { encodeFrame, FrameReader, parseFrame } from "../../src/engine/link/frames.ts";
import { TcpLinkServer } from "../../src/engine/link/tcp-link.ts";
import { Scene } from "./engine-scene.ts";
import { RawPeer, requestText, startEngine, tcpRig, virtualRig } from "./engine-support.ts";

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A bare application connection that writes and reads frames. */
async function rawApp(port: number) {
  const socket = net.connect(port, "127.0.0.1");
  await new Promise((resolve) => socket.once("connect", resolve));
  const heard: string[] = [];
  let closed = false;
  const reader = new FrameReader();
  socket.setEncoding("latin1");
  socket.on("data", (chunk: string) => heard.push(...reader.read(chunk)));
  socket.on("close", () => {
    closed = true;
  });
  socket.on("error", () => {});
  closers.push(() => socket.destroy());
  let ids = 0;
  const ask = async (type: string): Promise<readonly string[]> => {
    const id = `m${++ids}`;
    socket.write(encodeFrame(`${id}|${type}`), "latin1");
    return vi.waitFor(() => {
      const answer = heard.map(parseFrame).find(({ tokens }) => tokens[1] === "response" && tokens[2] === id);
      if (!answer) throw new Error(`no answer to ${type}`);
      return answer.tokens.slice(3);
    });
  };
  return { socket, heard, ask, isClosed: () => closed };
}

async function engineWithLinks() {
  const { engine, port } = await startEngine();
  const lines: string[] = [];
  const log = {
    info: (_: object, message: string) => lines.push(message),
    warn: (_: object, message: string) => lines.push(message),
  };
  const links = new TcpLinkServer(engine, { host: "127.0.0.1", port: 0, secret: "s3cret", log });
  await links.start();
  closers.push(
    () => engine.stop(),
    () => links.stop(),
  );
  const peer = await RawPeer.open();
  closers.push(() => peer.close());
  return { engine, port, links, peer, lines };
}

describe("an application connection", () => {
  it("is told in the log when it comes with the secret, comes without it, and goes", async () => {
    const { links, lines } = await engineWithLinks();
    const stranger = await rawApp(links.port);
    await stranger.ask("authenticate|other|");
    expect(lines).toEqual(["application refused: wrong secret"]);
    const app = await rawApp(links.port);
    await app.ask("authenticate|s3cret|");
    expect(lines.slice(1)).toEqual(["application connected"]);
    app.socket.destroy();
    await vi.waitFor(() => expect(lines.slice(2)).toEqual(["application gone"]));
  });

  it("is told what the engine listens on, and its pings are answered", async () => {
    const { links, port, engine } = await engineWithLinks();
    const app = await rawApp(links.port);
    const tcp = engine.listening[1]?.port;
    const hostports = `udp/127.0.0.1:${port},tcp/127.0.0.1:${tcp}`;
    expect(await app.ask("authenticate|s3cret|")).toEqual([
      "OK",
      hostports,
      expect.stringMatching(/^v0\.9\.\d/),
      hostports,
    ]);
    expect(await app.ask("ping")).toEqual(["OK", "pong"]);
  });

  it("is closed after a wrong secret, before authentication, and for broken frames", async () => {
    const { links, engine } = await engineWithLinks();
    const wrong = await rawApp(links.port);
    expect(await wrong.ask("authenticate|guess|")).toEqual(["NO", "incorrect secret"]);
    const hasty = await rawApp(links.port);
    expect(await hasty.ask("route|invite")).toEqual(["NO", "not authenticated"]);
    const broken = await rawApp(links.port);
    broken.socket.write("abc#");
    const lost = await rawApp(links.port);
    await lost.ask("authenticate|s3cret|");
    expect(await lost.ask("sip||\r\nSIP/2.0 200 OK\r\n\r\n")).toEqual(["NO", "transaction id missing"]);
    await vi.waitFor(() => expect([wrong, hasty, broken, lost].every((app) => app.isClosed())).toBe(true));
    await vi.waitFor(() => expect(engine.counters.alive.applications).toBe(0));
  });

  it("gets the methods it asked for, in turn with others, and no more once it takes a route back", async () => {
    const { links, port, peer } = await engineWithLinks();
    peer.send(requestText(peer.port, { method: "OPTIONS", callId: "none" }), port);
    await peer.next(503);
    const apps = [await rawApp(links.port), await rawApp(links.port)];
    for (const app of apps) {
      await app.ask("authenticate|s3cret|");
      await app.ask("route|options");
    }
    const requests = (app: (typeof apps)[number]) =>
      app.heard.filter((payload) => payload.includes("|sip|network|")).length;
    for (let n = 0; n < 4; n++) peer.send(requestText(peer.port, { method: "OPTIONS", callId: `o${n}` }), port);
    await vi.waitFor(() => expect(apps.map(requests)).toEqual([2, 2]));
    await apps[0]?.ask("route|message");
    await apps[0]?.ask("remove_route|options");
    for (let n = 4; n < 6; n++) peer.send(requestText(peer.port, { method: "OPTIONS", callId: `o${n}` }), port);
    peer.send(requestText(peer.port, { method: "MESSAGE", callId: "m" }), port);
    await vi.waitFor(() => expect(apps.map(requests)).toEqual([3, 4]));
  });
});

describe("the calls of an application that vanishes", () => {
  it("are ended: refused, cancelled, hung up", async () => {
    const rig = await tcpRig();
    const scene = await Scene.open(async () => rig);
    closers.push(() => scene.close());
    const { peer, app } = scene;
    await scene.confirmedCall();
    const { invite } = await scene.outgoingCall();
    peer.answer(invite, 180);
    peer.send(requestText(peer.port, { callId: "unanswered" }), rig.port);
    await app.next("INVITE");
    (rig.srf as unknown as { disconnect(): void }).disconnect();
    const refused = await peer.next(503);
    expect(refused.callId).toBe("unanswered");
    peer.send(
      requestText(peer.port, { callId: "unanswered", method: "ACK", to: refused.header("to") ?? "" }),
      rig.port,
    );
    const bye = await peer.next("BYE");
    expect(bye.header("reason")).toContain("Application gone");
    peer.answer(bye, 200);
    peer.answer(await peer.next("CANCEL"), 200);
    // The callee answered all the same: nobody is left to talk to it.
    peer.answer(invite, 200);
    await peer.next("ACK");
    peer.answer(await peer.next("BYE"), 200);
    await scene.nothingLeft(true);
  });

  it("are ended when the engine is asked to stop its link in the same thread", async () => {
    const rig = await virtualRig();
    const scene = await Scene.open(async () => rig);
    closers.push(() => scene.close());
    await scene.confirmedCall();
    rig.server.close();
    scene.peer.answer(await scene.peer.next("BYE"), 200);
    await scene.nothingLeft();
  });
});

describe("the engine", () => {
  it("answers an INVITE of its own that comes back with 482", async () => {
    const rig = await virtualRig();
    const scene = await Scene.open(async () => rig);
    closers.push(() => scene.close());
    const { peer } = scene;
    const { sent, invite } = await scene.outgoingCall();
    // A proxy that sends everything back, with one Via more.
    const via = `Via: SIP/2.0/UDP 127.0.0.1:${peer.port};branch=z9hG4bKloop;rport\r\nVia: `;
    peer.send(invite.text.replace("Via: ", via), rig.port);
    const loop = await peer.next(482);
    peer.send(loop.text.replace(/^.*?\r\nVia: .*?\r\n/, "SIP/2.0 482 Loop Detected\r\n"), rig.port);
    await sent.next(482);
    expect(rig.engine.counters.core.loops).toBe(1);
  });

  it("answers what it cannot read, if it says whom to answer", async () => {
    const rig = await virtualRig();
    const scene = await Scene.open(async () => rig);
    closers.push(() => scene.close());
    scene.peer.send(requestText(scene.peer.port, { method: "OPTIONS" }).replace("CSeq: 1", "CSeq: one"), rig.port);
    await scene.peer.next(400);
    scene.peer.send("not SIP at all\r\n\r\n", rig.port);
    scene.peer.send(requestText(scene.peer.port, { method: "OPTIONS" }), rig.port);
    await scene.app.respond(await scene.app.next("OPTIONS"), 200);
    await scene.peer.next(200);
    expect(rig.engine.counters.core.malformedAnswered).toBe(1);
  });

  it("keeps names that would harm a plain object from the application, and shows compact ones in full", async () => {
    const rig = await virtualRig();
    const scene = await Scene.open(async () => rig);
    closers.push(() => scene.close());
    const headers = ["__proto__: x", "constructor: y", "%5f%5fproto%5f%5f: z", "k: timer", "x: 90", "Subject: a\r\n b"];
    scene.peer.send(requestText(scene.peer.port, { headers }), rig.port);
    const { req, res } = await scene.app.next("INVITE");
    const shown = (req as unknown as { headers: Record<string, string> }).headers;
    expect(Object.keys(shown)).not.toContain("constructor");
    expect(shown).toMatchObject({ supported: "timer", "session-expires": "90", subject: "a b" });
    expect(Object.keys(shown).join()).not.toContain("proto");
    res.send(486);
    await scene.peer.next(486);
  });
});
