import Srf from "drachtio-srf";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { startWorkerEngine, type WorkerEngine } from "../../src/engine/worker-engine.ts";
import { App, RawPeer, requestText } from "./engine-support.ts";

const program = new URL("./engine-worker-thread.mjs", import.meta.url);
const timers = { t1: 50, t2: 200, t4: 250 };
const log = { warn: () => {}, debug: () => {} };

describe("the engine in a worker thread", () => {
  let engine: WorkerEngine;
  let app: App;
  let peer: RawPeer;
  let port: number;

  beforeEach(async () => {
    const listen = [{ protocol: "udp", address: "127.0.0.1", port: 0 }] as const;
    engine = await startWorkerEngine({ listen, timers, log, program });
    port = engine.listening[0]?.port ?? 0;
    const srf = new Srf();
    const up = new Promise((resolve) => srf.on("connect", resolve));
    srf.listen({ server: engine.server, secret: "any" } as never);
    await up;
    app = new App(srf);
    peer = await RawPeer.open();
  });

  afterEach(async () => {
    await engine.stop();
    peer.close();
  });

  it("carries calls both ways, bytes untouched, and tells its counters", async () => {
    const body = "v=0 \xff\xc3\xa9";
    peer.send(requestText(peer.port, { body }), port);
    const call = await app.next("INVITE");
    expect(call.req.body).toBe(body);
    await app.respond(call, 200, { body });
    const ok = await peer.next(200);
    expect(ok.body).toBe(body);
    const to = ok.header("to") ?? "";
    peer.send(requestText(peer.port, { method: "ACK", to }), port);
    peer.send(requestText(peer.port, { method: "BYE", cseq: 2, to }), port);
    await app.respond(await app.next("BYE"), 200);
    await peer.next(200);

    const sent = await app.request({ uri: `sip:svc@127.0.0.1:${peer.port}`, method: "INVITE", body });
    const invite = await peer.next("INVITE");
    expect(invite.body).toBe(body);
    peer.answer(invite, 486);
    await sent.next(486);
    await vi.waitFor(
      () =>
        expect(engine.counters).toMatchObject({
          core: { requestsDelivered: 2, requestsSent: 1 },
          alive: { dialogs: 0 },
        }),
      { timeout: 5_000, interval: 20 },
    );
  });

  it("ends its application's calls when it is stopped", async () => {
    peer.send(requestText(peer.port), port);
    await app.respond(await app.next("INVITE"), 200);
    const ok = await peer.next(200);
    peer.send(requestText(peer.port, { method: "ACK", to: ok.header("to") ?? "" }), port);
    await app.next("ACK");
    const stopped = engine.stop();
    await peer.next("BYE");
    await stopped;
  });

  it("says what address it cannot bind", async () => {
    const listen = [{ protocol: "udp", address: "127.0.0.1", port }] as const;
    await expect(startWorkerEngine({ listen, timers, log, program })).rejects.toMatchObject({
      code: "WEIR_LISTEN_FAILED",
      detail: { port },
    });
  });
});
