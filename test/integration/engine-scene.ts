import { expect, vi } from "vitest";
import type { SipMessage } from "../../src/engine/message/sip-message.ts";
import { App, RawPeer, type Received, type Rig, requestText, tcpRig, virtualRig } from "./engine-support.ts";

export const sdp = { headers: { "Content-Type": "application/sdp" }, body: "v=0 app" };

/** The ways an application can be linked to the engine. */
export const links: [name: string, start: () => Promise<Rig>][] = [
  ["in the engine's thread", () => virtualRig()],
  ["over TCP", () => tcpRig()],
];

/** An engine, an application on it, and a raw peer. */
export class Scene {
  private constructor(
    readonly rig: Rig,
    readonly app: App,
    readonly peer: RawPeer,
  ) {}

  static async open(start: () => Promise<Rig>): Promise<Scene> {
    const rig = await start();
    const app = new App(rig.srf);
    // Frames arrive in order: once this is refused, the engine has heard of the routes before it.
    await app.request({ uri: "sip:x;transport=none", method: "OPTIONS" }).catch(() => {});
    return new Scene(rig, app, await RawPeer.open());
  }

  async close(): Promise<void> {
    await this.rig.close();
    this.peer.close();
  }

  /** The peer's call to the application, answered: the application's side and the 200 the peer got. */
  async answeredCall(): Promise<{ call: Received; ok: SipMessage; dialogId: string }> {
    this.peer.send(requestText(this.peer.port, { body: "v=0 peer" }), this.rig.port);
    const call = await this.app.next("INVITE");
    await this.app.respond(call, 200, sdp);
    return { call, ok: await this.peer.next(200), dialogId: call.res.stackDialogId };
  }

  /** The same with its ACK. */
  async confirmedCall(): Promise<{ call: Received; to: string; dialogId: string }> {
    const { call, ok, dialogId } = await this.answeredCall();
    const to = ok.header("to") ?? "";
    this.peer.send(requestText(this.peer.port, { method: "ACK", to }), this.rig.port);
    await this.app.next("ACK");
    return { call, to, dialogId };
  }

  /** The application's call to the peer. */
  async outgoingCall(options: object = {}) {
    const sent = await this.app.request({
      uri: `sip:svc@127.0.0.1:${this.peer.port}`,
      method: "INVITE",
      body: "v=0 app",
      ...options,
    });
    return { sent, invite: await this.peer.next("INVITE") };
  }

  async confirmedOutgoingCall() {
    const { sent, invite } = await this.outgoingCall();
    this.peer.answer(invite, 200);
    const { res, ack } = await sent.next(200);
    ack();
    await this.peer.next("ACK");
    return { sent, invite, dialogId: res.stackDialogId };
  }

  /** A request of the peer within a dialog that the application's INVITE made. */
  peersRequest(invite: SipMessage, method: string, cseq: number, headers: string[] = [], body = ""): string {
    return [
      `${method} sip:x@127.0.0.1:${this.rig.port} SIP/2.0`,
      `Via: SIP/2.0/UDP 127.0.0.1:${this.peer.port};branch=z9hG4bKin${method}${cseq}${invite.callId.slice(0, 8)};rport`,
      "Max-Forwards: 70",
      `From: ${invite.header("to")};tag=peer`,
      `To: ${invite.header("from")}`,
      `Call-ID: ${invite.callId}`,
      `CSeq: ${cseq} ${method}`,
      `Contact: <sip:peer@127.0.0.1:${this.peer.port}>`,
      ...headers,
      `Content-Length: ${body.length}`,
      "",
      body,
    ].join("\r\n");
  }

  /** No call, request or dialog is left. Transactions linger for stragglers; `alsoTransactions` waits for their end too. */
  nothingLeft(alsoTransactions = false): Promise<void> {
    const lingering = alsoTransactions ? { clients: 0, servers: 0 } : {};
    const nothing = { dialogs: 0, incoming: 0, outgoing: 0, ...lingering };
    return vi.waitFor(() => expect(this.rig.engine.counters.alive).toMatchObject(nothing), {
      timeout: 10_000,
      interval: 5,
    });
  }
}
