import type Srf from "drachtio-srf";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RawPeer, type Rig, requestText, tcpRig, virtualRig } from "./engine-support.ts";

/** What the library's conveniences need of the engine: whole echoes, dialog ids, and the order of frames. */
interface LibraryDialog {
  readonly id: string;
  readonly sip: { readonly callId: string; readonly localTag: string; readonly remoteTag: string };
  readonly remote: { readonly sdp: string; readonly uri: string };
  on(event: string, listener: (...args: never[]) => void): void;
  destroy(): Promise<unknown>;
  modify(sdp: string): Promise<string>;
}
interface Library {
  invite(handler: (req: unknown, res: unknown) => void): void;
  createUAS(req: unknown, res: unknown, options: object): Promise<LibraryDialog>;
  createUAC(uri: string, options: object): Promise<LibraryDialog>;
  createB2BUA(
    req: unknown,
    res: unknown,
    uri: string,
    options: object,
  ): Promise<{ uas: LibraryDialog; uac: LibraryDialog }>;
}

describe.each([
  ["in the engine's thread", () => virtualRig({ reportTrying: false })],
  ["over TCP", () => tcpRig()],
])("drachtio-srf's dialogs %s", (_, start) => {
  let rig: Rig;
  let srf: Library;
  let caller: RawPeer;
  let callee: RawPeer;

  beforeEach(async () => {
    rig = await start();
    srf = rig.srf as Srf & Library;
    caller = await RawPeer.open();
    callee = await RawPeer.open();
  });

  afterEach(async () => {
    await rig.close();
    caller.close();
    callee.close();
  });

  const idle = () =>
    vi.waitFor(
      () => {
        expect(rig.engine.counters.alive).toMatchObject({ dialogs: 0, incoming: 0, outgoing: 0 });
        expect((rig.srf as unknown as { idle: boolean }).idle).toBe(true);
      },
      { timeout: 8_000, interval: 5 },
    );

  it("answers by createUAS and hears the caller hang up", async () => {
    const destroyed = new Promise<LibraryDialog>((resolve) =>
      srf.invite(async (req, res) => {
        const dialog = await srf.createUAS(req, res, { localSdp: "v=0 uas" });
        dialog.on("destroy", () => resolve(dialog));
      }),
    );
    await vi.waitFor(() => expect(rig.engine.counters.alive.applications).toBe(1));
    let ok = await answered();
    const to = ok.header("to") ?? "";
    caller.send(requestText(caller.port, { method: "ACK", to }), rig.port);
    caller.send(requestText(caller.port, { method: "BYE", cseq: 2, to }), rig.port);
    ok = await caller.next(200);
    expect(ok.method).toBe("BYE");
    expect((await destroyed).sip).toMatchObject({ remoteTag: "caller", localTag: ok.toTag });
    await idle();
  });

  /** The 200 to an INVITE that is sent again while the engine has not heard of the application's route. */
  async function answered() {
    for (let n = 1; ; n++) {
      caller.send(requestText(caller.port, { callId: `call-${caller.port}`, cseq: n, fromTag: `caller` }), rig.port);
      const answer = await Promise.race([caller.next(200), caller.next(503).then(() => undefined)]);
      if (answer) return answer;
    }
  }

  it("calls by createUAC, re-INVITEs and hangs up", async () => {
    const up = srf.createUAC(`sip:svc@127.0.0.1:${callee.port}`, { localSdp: "v=0 uac" });
    const invite = await callee.next("INVITE");
    callee.answer(invite, 180);
    callee.answer(invite, 200, { headers: ["Content-Type: application/sdp"], body: "v=0 callee" });
    const dialog = await up;
    await callee.next("ACK");
    expect(dialog.id).toBe(`${invite.callId};from-tag=${invite.fromTag}`);
    expect(dialog.remote).toMatchObject({ sdp: "v=0 callee", uri: `sip:peer@127.0.0.1:${callee.port}` });
    const modified = dialog.modify("v=0 again");
    callee.answer(await callee.next("INVITE"), 200, {
      headers: ["Content-Type: application/sdp"],
      body: "v=0 changed",
    });
    expect(await modified).toBe("v=0 changed");
    await callee.next("ACK");
    const gone = dialog.destroy();
    callee.answer(await callee.next("BYE"), 200);
    await gone;
    await idle();
  });

  it("rejects createUAC by the peer's status, and by 408 when there is none", async () => {
    const busy = srf.createUAC(`sip:svc@127.0.0.1:${callee.port}`, { localSdp: "v=0" });
    callee.answer(await callee.next("INVITE"), 486);
    await expect(busy).rejects.toMatchObject({ status: 486 });
    const silent = srf.createUAC(`sip:svc@127.0.0.1:${callee.port}`, { localSdp: "v=0" });
    await expect(silent).rejects.toMatchObject({ status: 408 });
    await idle();
  });

  it("hangs up either leg of createB2BUA when the other one does, at no hold time", async () => {
    let calls = 0;
    srf.invite(async (req, res) => {
      const { uas, uac } = await srf.createB2BUA(req, res, `sip:svc@127.0.0.1:${callee.port}`, {});
      calls++;
      uas.on("destroy", () => void uac.destroy());
      uac.on("destroy", () => void uas.destroy());
    });
    for (let n = 0; n < 20; n++) {
      const fromTag = `caller-${n}`;
      const callId = `b2b-${n}`;
      const send = (options: object) =>
        caller.send(requestText(caller.port, { fromTag, callId, ...options }), rig.port);
      const branch = `z9hG4bKb2b${n}`;
      send({ branch, body: "v=0 caller" });
      if (n === 0) {
        // The first one may be too early for the application's route.
        const early = await Promise.race([caller.next(503).then(() => true), callee.next("INVITE").then((i) => i)]);
        if (early === true) {
          n--;
          continue;
        }
        if (typeof early !== "boolean")
          callee.answer(early, 200, { body: "v=0 callee", headers: ["Content-Type: application/sdp"] });
      } else
        callee.answer(await callee.next("INVITE"), 200, {
          body: "v=0 callee",
          headers: ["Content-Type: application/sdp"],
        });
      const to = (await caller.next(200)).header("to") ?? "";
      send({ method: "ACK", to });
      send({ method: "BYE", cseq: 2, to });
      expect((await caller.next(200)).method).toBe("BYE");
      callee.answer(await callee.next("BYE"), 200);
    }
    await vi.waitFor(() => expect(calls).toBe(20));
    await idle();
  });
});
