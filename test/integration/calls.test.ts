import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AgentEvents } from "../../src/agents/agent-events.ts";
import { AgentManager } from "../../src/agents/agent-manager.ts";
import { CallManager } from "../../src/calls/call-manager.ts";
import { systemClock } from "../../src/clock.ts";
import type { SipMessage } from "../../src/engine/message/sip-message.ts";
import { defaultsOf } from "../../src/params.ts";
import { failoverParams, groupParams } from "../../src/routing/params.ts";
import { Router } from "../../src/routing/router.ts";
import { createSignalling } from "../../src/signalling/create-signalling.ts";
import type { Signalling } from "../../src/signalling/port.ts";
import { agentWith } from "../support/agents.ts";
import { freePort } from "../support/loopback.ts";
import { RawPeer, type RequestOptions, requestText } from "./engine-support.ts";

const patience = { timeout: 10_000, interval: 10 };

/** Calls over the real engine on loopback, two agents hunted in order, with SIP's timers at an eighth. */
describe("calls over the embedded engine", () => {
  let port: number;
  let signalling: Signalling;
  let agents: AgentManager;
  let calls: CallManager;
  let caller: RawPeer;
  let a: RawPeer;
  let b: RawPeer;
  const defects: unknown[] = [];

  beforeEach(async () => {
    port = await freePort("127.0.0.1");
    [caller, a, b] = await Promise.all([RawPeer.open(), RawPeer.open(), RawPeer.open()]);
    const clock = systemClock;
    const random = Math.random;
    const events = new AgentEvents();
    events.on("defect", (error) => defects.push(error));
    const log = pino({ level: "silent" });
    // One agent's address is every agent's here, so none of them is known as a caller: that is by port.
    const params = [a, b].map((peer, index) =>
      agentWith({ hostname: "ab"[index] ?? "", "ip-address": "127.0.0.1", port: peer.port }),
    );
    agents = new AgentManager(params, { clock, random, events });
    const router = new Router(
      {
        groups: [{ ...defaultsOf(groupParams), "group-name": "g", dest: ["a", "b"], failover: {} }],
        policies: [
          {
            "from-address": ["*"],
            "to-address": ["*"],
            "source-realm": ["*"],
            methods: [],
            "policy-attributes": [{ "next-hop": "SAG:g", cost: 0 }],
          },
        ],
        failover: { ...defaultsOf(failoverParams), "first-response-timeout": 0.5 },
      },
      agents,
    );
    const listen = [{ protocol: "udp", address: "127.0.0.1", port }] as const;
    const timers = { t1: 60, t2: 240, t4: 300 };
    const drachtio = { host: "127.0.0.1", port: 0, secret: "" };
    signalling = createSignalling({ engine: "embedded", thread: "same", listen, timers, drachtio }, { clock, log });
    const realms = [{ identifier: "default", listen, allow: "any" as const }];
    const parts = { signalling, agents, router, clock, random, log };
    calls = new CallManager({ realms, "retry-after": { min: 1, max: 5 } }, parts);
    await signalling.start(calls);
  });

  afterEach(async () => {
    await vi.waitFor(() => expect([calls.active, ...sessions()]).toEqual([0, 0, 0]), patience);
    expect(defects).toEqual([]);
    await signalling.stop();
    agents.stop();
    for (const peer of [caller, a, b]) peer.close();
  });

  const sessions = () => ["a", "b"].map((name) => agents.get(name)?.outboundActive);
  const say = (options: RequestOptions = {}) =>
    caller.send(requestText(caller.port, { body: "v=0", ...options }), port);
  const within = (answer: SipMessage) => ({ callId: answer.callId, to: answer.header("to") ?? "", body: "" });
  /** The first message of this kind, come or yet to come: repetitions of earlier ones are no trouble. */
  const found = (peer: RawPeer, wanted: (message: SipMessage) => boolean): Promise<SipMessage> =>
    vi.waitFor(() => {
      const message = peer.received.find(wanted);
      if (!message) throw new Error("not yet");
      return message;
    }, patience);
  /** A request of an agent in the dialog of this INVITE. */
  const ask = (agent: RawPeer, invite: SipMessage, method: string, more: RequestOptions = {}) =>
    agent.send(
      requestText(agent.port, {
        method,
        callId: invite.callId,
        fromTag: "peer",
        to: invite.header("from") ?? "",
        ...more,
      }),
      port,
    );
  /** A call up between the caller and the first agent: the agent's INVITE and the caller's 200. */
  const talk = async (callId = "call") => {
    say({ callId });
    const invite = await a.next("INVITE");
    a.answer(invite, 200, { body: "v=0 answer" });
    const ok = await caller.next(200);
    say({ ...within(ok), method: "ACK" });
    await a.next("ACK");
    return { invite, ok };
  };

  it("hide each leg from the other", async () => {
    say({ headers: ["Record-Route: <sip:127.0.0.9;lr>", "P-Asserted-Identity: <sip:x@y>"] });
    const invite = await a.next("INVITE");
    expect(invite.text).not.toContain("127.0.0.9");
    expect(invite.text).not.toContain(String(caller.port));
    expect(invite.headers("via")).toHaveLength(1);
    expect(invite.callId).not.toBe("call");
    expect(invite.header("p-asserted-identity")).toBe("<sip:x@y>");
    expect(invite.requestUri).toBe(`sip:svc@127.0.0.1:${a.port}`);
    a.answer(invite, 486);
    expect((await caller.next(486)).text).not.toContain(String(a.port));
  });

  it("pass on every BYE that comes in one go with its ACK", async () => {
    const count = 20;
    for (let n = 0; n < count; n++) {
      say({ callId: `quick-${n}`, headers: [`X-Call: ${n}`] });
      const invite = await found(a, (message) => message.header("x-call") === `${n}`);
      a.answer(invite, 200, { body: "v=0" });
      const ok = await found(caller, ({ callId, status }) => callId === `quick-${n}` && status === 200);
      say({ ...within(ok), method: "ACK" });
      say({ ...within(ok), method: "BYE", cseq: 2 });
      a.answer(await found(a, ({ callId, method }) => callId === invite.callId && method === "BYE"), 200);
    }
    expect(calls.counters.ended["caller-bye"]).toBe(count);
  });

  it("go to the next agent when the first is silent, whose timer B takes it out of service", async () => {
    say();
    await a.next("INVITE");
    b.answer(await b.next("INVITE"), 486);
    await caller.next(486);
    expect(a.pending("CANCEL")).toBe(0);
    await vi.waitFor(() => expect(agents.get("a")?.letter).toBe("O"), patience);
  });

  it("go to the next agent at once when the first agent's port is closed", async () => {
    a.close();
    say();
    const start = performance.now();
    b.answer(await b.next("INVITE"), 486);
    expect(performance.now() - start).toBeLessThan(450);
    await caller.next(486);
    expect(agents.get("a")?.letter).toBe("O");
    a = await RawPeer.open();
  });

  it("end by CANCEL before the agent has said a word: 487 at once, CANCEL after the agent's 180", async () => {
    say({ branch: "z9hG4bKx1", callId: "x1" });
    const invite = await a.next("INVITE");
    say({ branch: "z9hG4bKx1", callId: "x1", method: "CANCEL", body: "" });
    await caller.next(487);
    expect(a.pending("CANCEL")).toBe(0);
    a.answer(invite, 180);
    const cancel = await a.next("CANCEL");
    a.answer(cancel, 200);
    a.answer(invite, 487);
    await a.next("ACK");
  });

  it("end by CANCEL that crosses the agent's 200: ACK and BYE to the agent", async () => {
    say({ branch: "z9hG4bKx2", callId: "x2" });
    const invite = await a.next("INVITE");
    a.answer(invite, 180);
    await caller.next(180);
    say({ branch: "z9hG4bKx2", callId: "x2", method: "CANCEL", body: "" });
    await caller.next(487);
    await a.next("CANCEL");
    a.answer(invite, 200, { body: "v=0" });
    await a.next("ACK");
    a.answer(await a.next("BYE"), 200);
  });

  it("end on both legs when the caller never acknowledges", async () => {
    say();
    a.answer(await a.next("INVITE"), 200, { body: "v=0" });
    await caller.next(200);
    const bye = await a.next("BYE", 10_000);
    a.answer(bye, 200);
    caller.answer(await caller.next("BYE"), 200);
    expect(calls.counters.ended["no-ack"]).toBe(1);
  });

  it("carry the caller's answer in its ACK when the agent makes the offer", async () => {
    say({ body: "" });
    a.answer(await a.next("INVITE"), 200, { body: "v=0 offer" });
    const ok = await caller.next(200);
    expect(ok.body).toBe("v=0 offer");
    expect(a.pending("ACK")).toBe(0);
    say({ ...within(ok), method: "ACK", body: "v=0 answer" });
    expect((await a.next("ACK")).body).toBe("v=0 answer");
    say({ ...within(ok), method: "BYE", cseq: 2 });
    a.answer(await a.next("BYE"), 200);
  });

  it("settle PRACK between the two ends", async () => {
    say({ headers: ["Supported: 100rel"] });
    const invite = await a.next("INVITE");
    a.answer(invite, 183, { headers: ["Require: 100rel", "RSeq: 4711"], body: "v=0" });
    const progress = await caller.next(183);
    const rack = `RAck: ${progress.header("rseq")} 1 INVITE`;
    say({ ...within(progress), method: "PRACK", cseq: 2, headers: [rack], body: "v=0 more" });
    const prack = await a.next("PRACK");
    expect([prack.header("rack"), prack.body]).toEqual([`4711 ${invite.cseq} INVITE`, "v=0 more"]);
    a.answer(prack, 200, { body: "v=0 yes" });
    expect((await caller.next(200)).body).toBe("v=0 yes");
    a.answer(invite, 486);
    await caller.next(486);
  });

  it("answer glare with 491, and go on", async () => {
    const { invite, ok } = await talk();
    say({ ...within(ok), method: "INVITE", cseq: 2, body: "v=0 mine" });
    const mine = await a.next("INVITE");
    expect(mine.body).toBe("v=0 mine");
    ask(a, invite, "INVITE", { body: "v=0 theirs", branch: "z9hG4bKglare" });
    await a.next(491);
    ask(a, invite, "ACK", { branch: "z9hG4bKglare" });
    a.answer(mine, 491);
    await caller.next(491);
    ask(a, invite, "BYE", { cseq: 2 });
    await a.next(200);
    caller.answer(await caller.next("BYE"), 200);
  });

  it("relay an agent's re-INVITE that overtakes the caller's ACK, once the ACK is there", async () => {
    say();
    const invite = await a.next("INVITE");
    a.answer(invite, 200, { body: "v=0" });
    const ok = await caller.next(200);
    await a.next("ACK");
    ask(a, invite, "INVITE", { body: "v=0 hold" });
    await a.next(100);
    say({ ...within(ok), method: "ACK" });
    const again = await caller.next("INVITE");
    expect(again.body).toBe("v=0 hold");
    caller.answer(again, 488);
    await a.next(488);
    say({ ...within(ok), method: "BYE", cseq: 2 });
    a.answer(await a.next("BYE"), 200);
  });

  it("show each side one and the same Contact for the whole call", async () => {
    say();
    const invite = await a.next("INVITE");
    a.answer(invite, 180);
    const ringing = await caller.next(180);
    a.answer(invite, 200, { body: "v=0" });
    const ok = await caller.next(200);
    say({ ...within(ok), method: "ACK" });
    await a.next("ACK");
    say({ ...within(ok), method: "UPDATE", cseq: 2 });
    const update = await a.next("UPDATE");
    a.answer(update, 200);
    const updated = await caller.next(200);
    ask(a, invite, "INVITE", { body: "v=0 hold" });
    const again = await caller.next("INVITE");
    caller.answer(again, 488);
    await a.next(488);
    say({ ...within(ok), method: "BYE", cseq: 3 });
    a.answer(await a.next("BYE"), 200);
    const shown = (messages: SipMessage[]) => new Set(messages.map((message) => message.header("contact")));
    expect([...shown([ringing, ok, updated, again])]).toEqual([`<sip:peer@127.0.0.1:${port}>`]);
    expect([...shown([invite, update])]).toEqual([`<sip:caller@127.0.0.1:${port}>`]);
  });
});
