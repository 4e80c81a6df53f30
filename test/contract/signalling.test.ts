import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../src/clock.ts";
import type { SignallingConfig } from "../../src/config/config.ts";
import { Engine } from "../../src/engine/engine.ts";
import { TcpLinkServer } from "../../src/engine/link/tcp-link.ts";
import { DrachtioSignalling, type EngineLink } from "../../src/signalling/drachtio-signalling.ts";
import { EmbeddedLink } from "../../src/signalling/embedded-link.ts";
import { ExternalLink } from "../../src/signalling/external-link.ts";
import {
  dialogIdOf,
  type ExchangeUser,
  type IncomingAck,
  type IncomingRequest,
  type IncomingResponse,
  type Message,
  type Outcome,
  type OutgoingRequest,
  type SignallingUser,
} from "../../src/signalling/port.ts";
import { RawPeer, requestText } from "../integration/engine-support.ts";
import { ExternalEngine, onDrachtio } from "../support/external-engine.ts";
import { freePort } from "../support/loopback.ts";

/** What signalling tells, kept; and what is done about an INVITE. */
class Listener implements SignallingUser {
  readonly invites: IncomingRequest[] = [];
  readonly requests: IncomingRequest[] = [];
  readonly acks: IncomingAck[] = [];
  readonly ended: string[] = [];
  readonly links: string[] = [];
  onInvite: (request: IncomingRequest) => void = () => {};

  forget(): void {
    this.invites.length = 0;
    this.requests.length = 0;
    this.acks.length = 0;
    this.onInvite = () => {};
  }

  invite(request: IncomingRequest): void {
    this.invites.push(request);
    this.onInvite(request);
  }

  request(request: IncomingRequest): void {
    this.requests.push(request);
  }

  ack(ack: IncomingAck): void {
    this.acks.push(ack);
  }

  dialogEnded(dialogId: string, reason: string): void {
    this.ended.push(`${dialogId} ${reason}`);
  }

  connected(): void {
    this.links.push("up");
  }

  disconnected(): void {
    this.links.push("down");
  }
}

/** A request sent, and what came of it. */
class Sent implements ExchangeUser {
  callId = "";
  readonly provisionals: IncomingResponse[] = [];
  readonly outcomes: Outcome[] = [];

  sent(callId: string): void {
    this.callId = callId;
  }

  provisional(response: IncomingResponse): void {
    this.provisionals.push(response);
  }

  final(outcome: Outcome): void {
    this.outcomes.push(outcome);
  }

  async outcome(): Promise<Outcome> {
    await vi.waitFor(() => expect(this.outcomes).toHaveLength(1), { timeout: 8_000, interval: 10 });
    const [outcome] = this.outcomes;
    if (!outcome) throw new Error("no outcome");
    return outcome;
  }

  /** The final response; fails on any other outcome. */
  async response(): Promise<IncomingResponse> {
    const outcome = await this.outcome();
    if (outcome.kind !== "response") throw new Error(`no response: ${outcome.kind}`);
    return outcome.response;
  }
}

const soon = <T>(look: () => T | undefined): Promise<T> =>
  vi.waitFor(
    () => {
      const found = look();
      if (found === undefined) throw new Error("not yet");
      return found;
    },
    { timeout: 8_000, interval: 10 },
  );

const reply = (status: number, reason = "Reason", message: Partial<Message> = {}) => ({
  status,
  reason,
  headers: {},
  body: "",
  ...message,
});

interface Rig {
  readonly link: EngineLink;
  /** Bytes that survive on the way to the application, and the text they become there. */
  readonly bytes: string;
  readonly text: string;
  stop(): Promise<void>;
}

const timers = { t1: 25, t2: 100, t4: 125 };
const log = { warn() {}, error() {}, info() {}, debug() {} };
const workerProgram = new URL("../integration/engine-worker-thread.mjs", import.meta.url);

const config = (port: number): SignallingConfig => ({
  engine: "embedded",
  thread: "same",
  listen: [{ protocol: "udp", address: "127.0.0.1", port }],
  drachtio: { host: "127.0.0.1", port: 0, secret: "cymru" },
  timers,
});

/** The protocol over TCP, as with a drachtio-server. */
async function external(port: number): Promise<Rig> {
  const engine = new Engine({ listen: config(port).listen, timers, clock: systemClock, log });
  await engine.start();
  const server = new TcpLinkServer(engine, { host: "127.0.0.1", port: 0, secret: "cymru" });
  await server.start();
  return {
    // drachtio-srf decodes UTF-8 and knows nothing of what is none.
    bytes: "\xc3\xa9",
    text: "\u00e9",
    link: new ExternalLink({ drachtio: { host: "127.0.0.1", port: server.port, secret: "cymru" } }, systemClock),
    async stop() {
      await server.stop();
      await engine.stop();
    },
  };
}

/** The drachtio-server that the tests were told of. */
async function drachtioServer(port: number): Promise<Rig> {
  const engine = await ExternalEngine.at({ listen: [{ address: "127.0.0.1", port }], t1: timers.t1 });
  await engine.start();
  const stop = () => engine.remove();
  return { bytes: "\xc3\xa9", text: "\u00e9", link: new ExternalLink({ drachtio: engine.link }, systemClock), stop };
}

const anyBytes = "\xff\xc3\xa9";

const rigs: Record<string, (port: number) => Rig | Promise<Rig>> = {
  "the engine in this thread": (port) => ({
    link: EmbeddedLink.inThisThread(config(port), systemClock, log),
    bytes: anyBytes,
    text: anyBytes,
    async stop() {},
  }),
  "the engine in a worker thread": (port) => ({
    link: EmbeddedLink.inWorkerThread(config(port), log, workerProgram),
    bytes: anyBytes,
    text: anyBytes,
    async stop() {},
  }),
  "an engine over TCP": external,
  ...(onDrachtio ? { "a drachtio-server": drachtioServer } : {}),
};

describe.each(Object.entries(rigs))("signalling on %s", (engine, open) => {
  let rig: Rig;
  let signalling: DrachtioSignalling;
  let user: Listener;
  let peer: RawPeer;
  let port: number;
  /** Of a call that comes in. */
  let callId: string;

  beforeAll(async () => {
    port = await freePort("127.0.0.1");
    rig = await open(port);
    user = new Listener();
    signalling = new DrachtioSignalling(rig.link, log);
    await signalling.start(user);
    await soon(() => signalling.connected || undefined);
  });

  afterAll(async () => {
    await signalling.stop();
    await rig.stop();
  });

  beforeEach(async () => {
    peer = await RawPeer.open();
    callId = `in-${peer.port}`;
    user.forget();
  });

  afterEach(() => peer.close());

  const call = (options: Parameters<typeof requestText>[1] = {}) => peer.send(requestText(peer.port, options), port);
  const ask = (request: Partial<OutgoingRequest>) => {
    const sent = new Sent();
    const exchange = signalling.send(
      { method: "INVITE", uri: `sip:svc@127.0.0.1:${peer.port}`, dialogId: "", headers: {}, body: "", ...request },
      sent,
    );
    return { sent, exchange };
  };

  it("shows an INVITE whole: headers, bytes, where it came from and where to", async () => {
    call({ body: `v=0 ${rig.bytes} \r\n\r\nmore`, headers: ["X-Odd: a;b", `Subject: ${rig.bytes}`] });
    const invite = await soon(() => user.invites[0]);
    expect(invite).toMatchObject({ method: "INVITE", dialogId: "", receivedOn: `127.0.0.1:${port}` });
    expect(invite.source).toEqual({ protocol: "udp", address: "127.0.0.1", port: peer.port });
    expect(invite.headers).toMatchObject({ "X-Odd": "a;b", subject: rig.text });
    expect(invite.body).toBe(`v=0 ${rig.text} \r\n\r\nmore`);
    invite.respond(reply(486));
    await peer.next(486);
  });

  it("carries a call that came in: 180, 200, ACK, INFO, BYE, all under one dialog id known beforehand", async () => {
    call({ callId, fromTag: "f" });
    const invite = await soon(() => user.invites[0]);
    invite.respond(reply(180, "It Rings", { headers: { "X-R": "1" } }));
    const ringing = await peer.next(180);
    expect([ringing.reasonPhrase, ringing.header("x-r")]).toEqual(["It Rings", "1"]);
    const refusals: (string | undefined)[] = [];
    invite.respond(reply(200, "Fine", { body: "v=0 b" }), (refused) => refusals.push(refused));
    const ok = await peer.next(200);
    expect(ok.body).toBe("v=0 b");
    const to = ok.header("to") ?? "";
    const within = { callId, fromTag: "f", to };
    call({ ...within, method: "ACK", body: "v=0 late" });
    const ack = await soon(() => user.acks[0]);
    const dialogId = dialogIdOf(callId, "f");
    expect([ack.dialogId, ack.body, refusals]).toEqual([dialogId, "v=0 late", [undefined]]);
    call({ ...within, method: "INFO", cseq: 2 });
    const info = await soon(() => user.requests[0]);
    expect([info.method, info.dialogId]).toEqual(["INFO", dialogId]);
    info.respond(reply(415));
    await peer.next(415);
    const { sent } = ask({ method: "BYE", uri: "", dialogId });
    peer.answer(await peer.next("BYE"), 200);
    expect((await sent.response()).status).toBe(200);
  });

  it.each([189, 299, 499, 607, 699])("passes status %i and its phrase both ways", async (status) => {
    call();
    const invite = await soon(() => user.invites[0]);
    invite.respond(reply(status, "Of Its Own"));
    const response = await peer.next(status);
    expect(response.reasonPhrase).toBe("Of Its Own");
    call({ method: "ACK", to: response.header("to") ?? "" });
    if (status < 200) invite.respond(reply(486));
    const { sent } = ask({});
    peer.answer(await peer.next("INVITE"), status);
    if (status >= 200) {
      const response = await sent.response();
      expect(response).toMatchObject({ status, reason: "Whatever" });
      if (status < 300) response.ack();
    } else expect((await soon(() => sent.provisionals.find((each) => each.status !== 100))).status).toBe(status);
  });

  it("tells of the caller's CANCEL, and refuses what is said after it", async () => {
    call({ branch: "z9hG4bKcancelled" });
    const invite = await soon(() => user.invites[0]);
    let reason: string | undefined;
    invite.onCancel = (headers) => {
      reason = headers.reason;
    };
    call({ method: "CANCEL", branch: "z9hG4bKcancelled", headers: ["Reason: SIP;cause=200"] });
    await peer.next(487);
    await soon(() => reason);
    expect(reason).toBe("SIP;cause=200");
    const refused = await new Promise((resolve) => invite.respond(reply(200), resolve));
    expect(refused).toMatch(/unknown transaction/);
  });

  it("carries a call that goes out: Call-ID, 100 where it shows, early dialog, 200, our ACK with a body", async () => {
    const { sent } = ask({ body: "v=0 offer", headers: { from: '"A" <sip:a@localhost>', "X-Own": "1" } });
    const invite = await peer.next("INVITE");
    expect(invite.header("from")).toMatch(`"A" <sip:a@127.0.0.1:${port}>;tag=`);
    expect([invite.body, invite.header("x-own")]).toEqual(["v=0 offer", "1"]);
    peer.answer(invite, 100);
    peer.answer(invite, 180);
    const ringing = await soon(() => sent.provisionals.find(({ status }) => status === 180));
    expect(sent.callId).toBe(invite.callId);
    expect(ringing.dialogId.startsWith(`${invite.callId};from-tag=${invite.fromTag}`)).toBe(true);
    expect(sent.provisionals.map(({ status }) => status)).toEqual(signalling.showsTrying ? [100, 180] : [180]);
    peer.answer(invite, 200, { body: `v=0 ${rig.bytes}` });
    const answer = await sent.response();
    expect(answer.body).toBe(`v=0 ${rig.text}`);
    answer.ack({ headers: { "content-type": "application/sdp" }, body: "v=0 ack" });
    expect((await peer.next("ACK")).body).toBe("v=0 ack");
    const { sent: bye } = ask({ method: "BYE", uri: "", dialogId: answer.dialogId });
    peer.answer(await peer.next("BYE"), 200);
    await bye.response();
    expect(await ask({ method: "INFO", uri: "", dialogId: answer.dialogId }).sent.outcome()).toMatchObject({
      kind: "refused",
      cause: "no-dialog",
    });
  });

  it("refuses a re-INVITE as pending while the peer's own is under way, wherever that is by then", async ({ skip }) => {
    skip(engine === "a drachtio-server", "drachtio-server sends it, and the peer is the one to say 491");
    const { sent } = ask({ body: "v=0 offer" });
    const invite = await peer.next("INVITE");
    peer.answer(invite, 200, { toTag: "callee" });
    const answer = await sent.response();
    answer.ack();
    await peer.next("ACK");
    const { callId } = invite;
    const within = { callId, fromTag: "callee", to: invite.header("from") ?? "" };
    call({ ...within, cseq: 7 });
    const theirs = await soon(() => user.requests[0]);
    const ours = ask({ uri: "", dialogId: answer.dialogId }).sent;
    expect(await ours.outcome()).toMatchObject({ kind: "refused", cause: "request-pending" });
    theirs.respond(reply(488));
    await peer.next(488);
    const { sent: bye } = ask({ method: "BYE", uri: "", dialogId: answer.dialogId });
    peer.answer(await peer.next("BYE"), 200);
    await bye.response();
  });

  it("keeps a CANCEL back until the first provisional response", async () => {
    const { sent, exchange } = ask({});
    exchange.cancel({ reason: "SIP;cause=487" });
    const invite = await peer.next("INVITE");
    peer.answer(invite, 180);
    const cancel = await peer.next("CANCEL");
    expect(cancel.header("reason")).toBe("SIP;cause=487");
    peer.answer(cancel, 200);
    peer.answer(invite, 487);
    expect((await sent.response()).status).toBe(487);
  });

  it("tells silence, a closed port, itself and nonsense apart from what the far end says", async () => {
    const silent = ask({}).sent;
    const closed = ask({ uri: `sip:svc@127.0.0.1:${await freePort("127.0.0.1")}` }).sent;
    const itself = ask({ uri: `sip:svc@127.0.0.1:${port}` }).sent;
    const nonsense = ask({ body: "what is this" }).sent;
    expect(await itself.outcome()).toMatchObject({ kind: "refused", cause: "loop" });
    expect(await nonsense.outcome()).toMatchObject({ kind: "refused", cause: "bad-request" });
    expect(await closed.outcome()).toMatchObject({ kind: "transport-failure" });
    expect(await silent.outcome()).toEqual({ kind: "timeout" });
    const { sent } = ask({});
    peer.answer(await soon(() => peer.received.find(({ callId }) => callId === sent.callId)), 408);
    expect((await sent.response()).status).toBe(408);
  });

  it("sends provisional responses reliably when told to, and shows PRACK", async () => {
    call({ callId, headers: ["Supported: 100rel"] });
    const invite = await soon(() => user.invites[0]);
    invite.respond(reply(183, "Progress", { headers: { require: "100rel" }, body: "v=0" }));
    const progress = await peer.next(183);
    const rseq = progress.header("rseq");
    expect(rseq).toMatch(/^\d+$/);
    call({
      callId,
      method: "PRACK",
      cseq: 2,
      to: progress.header("to") ?? "",
      headers: [`RAck: ${rseq} 1 INVITE`],
    });
    const prack = await soon(() => user.requests[0]);
    expect([prack.method, prack.dialogId]).toEqual(["PRACK", dialogIdOf(callId, "caller")]);
    prack.respond(reply(200));
    await peer.next(200);
    const { sent } = ask({});
    peer.answer(await peer.next("INVITE"), 183, { headers: ["Require: 100rel", "RSeq: 77"] });
    const reliable = await soon(() => sent.provisionals.find(({ status }) => status === 183));
    expect([reliable.reliable, reliable.headers.rseq]).toEqual([true, "77"]);
    invite.respond(reply(486));
  });

  it("shows an UPDATE before the answer, on either leg, like any request in a dialog", async () => {
    call({ callId });
    const invite = await soon(() => user.invites[0]);
    invite.respond(reply(183));
    const progress = await peer.next(183);
    call({ callId, method: "UPDATE", cseq: 2, to: progress.header("to") ?? "" });
    const update = await soon(() => user.requests[0]);
    expect([update.method, update.headers["call-id"]]).toEqual(["UPDATE", callId]);
    update.respond(reply(200));
    await peer.next(200);
    invite.respond(reply(486));

    ask({});
    const out = await peer.next("INVITE");
    peer.answer(out, 183);
    const fromPeer = { callId: out.callId, fromTag: "peer", to: out.header("from") ?? "" };
    call({ ...fromPeer, method: "UPDATE", cseq: 1 });
    const second = await soon(() => user.requests[1]);
    expect(second.method).toBe("UPDATE");
    second.respond(reply(200));
    await peer.next(200);
  });

  it("keeps challenges apart that SIP forbids to join", async () => {
    call();
    const joined = 'Digest realm="a", nonce="1, 2", Digest realm="b", nonce="3"';
    const invite = await soon(() => user.invites[0]);
    invite.respond(reply(407, "Who", { headers: { "proxy-authenticate": joined } }));
    expect((await peer.next(407)).headers("proxy-authenticate")).toEqual([
      'Digest realm="a", nonce="1, 2"',
      'Digest realm="b", nonce="3"',
    ]);
  });

  it("survives a user that throws: 500 to whoever asked, and all goes on", async () => {
    user.onInvite = () => {
      throw new Error("a defect");
    };
    call();
    await peer.next(500);
    user.onInvite = (request) => request.respond(reply(486));
    call({ callId: "another" });
    await peer.next(486);
  });
});

describe("signalling whose engine goes away", () => {
  it("says so, refuses what is sent meanwhile, and is back when the engine is", async () => {
    const sipPort = await freePort("127.0.0.1");
    const engine = new Engine({ listen: config(sipPort).listen, timers, clock: systemClock, log });
    await engine.start();
    const first = new TcpLinkServer(engine, { host: "127.0.0.1", port: 0, secret: "cymru" });
    await first.start();
    const { port } = first;
    const user = new Listener();
    const signalling = new DrachtioSignalling(
      new ExternalLink({ drachtio: { host: "127.0.0.1", port, secret: "cymru" } }, systemClock),
      log,
    );
    await signalling.start(user);
    await soon(() => signalling.connected || undefined);
    await first.stop();
    await soon(() => (signalling.connected ? undefined : true));
    const sent = new Sent();
    signalling.send({ method: "OPTIONS", uri: "sip:127.0.0.1:9", dialogId: "", headers: {}, body: "" }, sent);
    expect(await sent.outcome()).toMatchObject({ kind: "refused", cause: "disconnected" });
    const second = new TcpLinkServer(engine, { host: "127.0.0.1", port, secret: "cymru" });
    await second.start();
    await soon(() => signalling.connected || undefined);
    expect(user.links).toEqual(["up", "down", "up"]);
    await signalling.stop();
    await second.stop();
    await engine.stop();
  });
});

describe("signalling on an engine outside", () => {
  let rig: Rig;
  let signalling: DrachtioSignalling;
  let user: Listener;
  let peer: RawPeer;
  let port: number;
  /** More than drachtio-server could read. */
  const body = `v=0 ${"x".repeat(13_000)}`;

  beforeEach(async () => {
    port = await freePort("127.0.0.1");
    rig = await (onDrachtio ? drachtioServer : external)(port);
    user = new Listener();
    signalling = new DrachtioSignalling(rig.link, log);
    await signalling.start(user);
    await soon(() => signalling.connected || undefined);
    peer = await RawPeer.open();
  });

  afterEach(async () => {
    peer.close();
    await signalling.stop();
    await rig.stop();
  });

  const invite = (message: Partial<Message> = {}) => {
    const sent = new Sent();
    const uri = `sip:svc@127.0.0.1:${peer.port}`;
    signalling.send({ method: "INVITE", uri, dialogId: "", headers: {}, body: "v=0", ...message }, sent);
    return sent;
  };

  it("refuses its own INVITE that comes back under another request URI: the legs' dialogs would have one id", async () => {
    const sent = invite();
    const { callId, fromTag } = await peer.next("INVITE");
    peer.send(requestText(peer.port, { callId, fromTag }), port);
    const refused = await soon(() => peer.received.find(({ status }) => status === 482));
    expect([refused.callId, user.invites]).toEqual([callId, []]);
    peer.send(requestText(peer.port, { method: "ACK", callId, fromTag, to: refused.header("to") ?? "" }), port);
    peer.answer(await soon(() => peer.received.find(({ method }) => method === "INVITE")), 486);
    expect((await sent.response()).status).toBe(486);
    // Once it has ended its Call-ID is anybody's.
    peer.send(requestText(peer.port, { callId, fromTag: "another", branch: "z9hG4bKanother" }), port);
    (await soon(() => user.invites[0])).respond(reply(486));
  });

  it("refuses an INVITE to what is no address, whoever sees that first", async () => {
    peer.send(requestText(peer.port).replace("INVITE sip:", "INVITE nobodyknows:"), port);
    expect((await soon(() => peer.received.find(({ status }) => status > 100))).status).toBe(416);
    expect(user.invites).toEqual([]);
  });

  it("keeps what drachtio-server could not read from the link, which would be stuck for good", async () => {
    expect(await invite({ body }).outcome()).toMatchObject({ kind: "refused", cause: "bad-request" });
    const long = { "x-long": body };
    expect(await invite({ headers: long }).outcome()).toMatchObject({ kind: "refused", cause: "bad-request" });
    expect(peer.received).toEqual([]);

    peer.send(requestText(peer.port, {}), port);
    const incoming = await soon(() => user.invites[0]);
    incoming.respond(reply(183, "Progress", { body }));
    const refusal = new Promise((resolve) => incoming.respond(reply(200, "OK", { body }), resolve));
    expect(await refusal).toMatch(/larger/);
    const final = await soon(() => peer.received.find(({ status }) => status >= 180));
    expect(final.status).toBe(500);
    peer.send(requestText(peer.port, { method: "ACK", to: final.header("to") ?? "" }), port);

    const sent = invite({ headers: {}, body: "" });
    peer.answer(await peer.next("INVITE"), 200, { body: "v=0 offer" });
    (await sent.response()).ack({ headers: {}, body });
    expect((await peer.next("ACK")).body).toBe("");
  });
});
