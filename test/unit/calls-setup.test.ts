import { describe, expect, it } from "vitest";
import { answer, CallBench, offer } from "../support/call-bench.ts";

describe("a call that is answered", () => {
  it("passes 180 and 200 with their bodies, and ends by the caller's BYE with nothing left", () => {
    const bench = new CallBench();
    const caller = bench.invite();
    const agent = bench.signalling.last("INVITE");
    expect(agent.request.body).toBe(offer);
    agent.respond(100);
    agent.respond(180, { reason: "It rings" });
    agent.respond(200, { body: answer, headers: { "content-type": "application/sdp", "x-trace": "1" } });
    expect(caller.replies.map(({ status, reason, body }) => [status, reason, body])).toEqual([
      [180, "It rings", ""],
      [200, "Because", answer],
    ]);
    expect(caller.last?.headers).toMatchObject({ "content-type": "application/sdp", "x-trace": "1" });
    expect(agent.acks).toHaveLength(1);
    expect(bench.sessions).toEqual([1, 0]);
    expect(bench.calls.list()).toMatchObject([{ state: "answered", agent: { name: "a", callId: "out-1" } }]);
    bench.ackFromCaller();
    expect(bench.calls.list()).toMatchObject([{ state: "confirmed" }]);
    const bye = bench.fromCaller("BYE", { headers: { reason: "Q.850;cause=16" } });
    expect(bye.statuses).toEqual([200]);
    expect(bench.signalling.last("BYE").request).toMatchObject({
      dialogId: agent.dialogId,
      headers: { reason: "Q.850;cause=16" },
    });
    expect(bench.sessions).toEqual([0, 0]);
    expect(bench.calls.list()).toEqual([]);
    expect(bench.clock.pending).toBe(0);
    expect(bench.defects).toEqual([]);
    expect(bench.logged).toMatchObject([{ "call-id": "in-1", agent: "a", end: "caller-bye", status: 200 }]);
  });

  it("passes a 2xx other than 200, and status codes no RFC knows", () => {
    const bench = new CallBench();
    const caller = bench.invite();
    const agent = bench.signalling.last("INVITE");
    agent.respond(189);
    agent.respond(209, { reason: "More than fine", body: answer });
    expect(caller.statuses).toEqual([189, 209]);
    expect(agent.acks).toHaveLength(1);
  });

  it("is acknowledged with the caller's answer when the agent made the offer", () => {
    const bench = new CallBench();
    bench.invite({ body: "" });
    const agent = bench.signalling.last("INVITE");
    agent.respond(200, { body: offer });
    expect(agent.acks).toHaveLength(0);
    bench.ackFromCaller(answer);
    expect(agent.acks).toEqual([{ headers: { "content-type": "application/sdp" }, body: answer }]);
  });

  it("hangs up on the agent, after an ACK, when the caller says BYE instead of answering its offer", () => {
    const bench = new CallBench();
    bench.invite({ body: "" });
    const agent = bench.signalling.last("INVITE");
    agent.respond(200, { body: offer });
    bench.fromCaller("BYE");
    expect(agent.acks).toEqual([undefined]);
    expect(bench.signalling.last("BYE").request.dialogId).toBe(agent.dialogId);
  });

  it("keeps the BYE to the caller back until the caller's ACK, and frees the agent at once", () => {
    const bench = new CallBench();
    bench.invite();
    bench.signalling.last("INVITE").respond(200, { body: answer });
    expect(bench.fromAgent("BYE").statuses).toEqual([200]);
    expect(bench.signalling.all("BYE")).toEqual([]);
    expect(bench.sessions).toEqual([0, 0]);
    expect(bench.calls.active).toBe(1);
    bench.ackFromCaller();
    expect(bench.signalling.last("BYE").request.dialogId).toBe("in-1;from-tag=theirs");
    expect(bench.calls.active).toBe(0);
  });

  it("ends the agent's leg when the engine hangs up on a caller that never sends ACK", () => {
    const bench = new CallBench();
    bench.invite();
    const agent = bench.signalling.last("INVITE");
    agent.respond(200, { body: answer });
    bench.calls.dialogEnded("in-1;from-tag=theirs");
    expect(bench.signalling.last("BYE").request.dialogId).toBe(agent.dialogId);
    expect(bench.calls.counters.ended["no-ack"]).toBe(1);
    expect(bench.sessions).toEqual([0, 0]);
  });

  it("goes to a next hop that is no agent just as well", () => {
    const bench = new CallBench({ address: "sip:192.0.2.9:5080;transport=tcp" });
    bench.invite();
    expect(bench.signalling.last("INVITE").request.uri).toBe("sip:100@192.0.2.9:5080;transport=tcp");
    bench.signalling.last("INVITE").respond(486);
    expect(bench.calls.active).toBe(0);
  });
});

describe("a failed attempt", () => {
  it.each([
    ["503", 503],
    ["408 off the wire", 408],
  ])("with %s is followed by the next agent, and the caller hears nothing of it", (_, status) => {
    const bench = new CallBench();
    const caller = bench.invite();
    bench.signalling.last("INVITE").respond(status);
    expect(bench.sessions).toEqual([0, 1]);
    expect(bench.signalling.all("INVITE")).toHaveLength(2);
    bench.signalling.last("INVITE").respond(200, { body: answer });
    expect(caller.statuses).toEqual([200]);
    expect(bench.calls.list()[0]?.attempts).toEqual([
      { agent: "a", group: "g", policy: "local-policies[0]", callId: "out-1", outcome: String(status) },
      { agent: "b", group: "g", policy: "local-policies[0]", callId: "out-2", outcome: "200" },
    ]);
  });

  it("is the caller's to know after the last agent: the last final response, with its headers", () => {
    const bench = new CallBench();
    const caller = bench.invite();
    bench.signalling.last("INVITE").respond(503);
    bench.signalling.last("INVITE").respond(504, { reason: "Too slow", headers: { warning: '399 x "y"' } });
    expect(caller.replies).toEqual([{ status: 504, reason: "Too slow", headers: { warning: '399 x "y"' }, body: "" }]);
    expect(bench.sessions).toEqual([0, 0]);
    expect(bench.calls.active).toBe(0);
    expect(bench.logged).toMatchObject([{ end: "rejected", status: 504 }]);
    expect(bench.calls.counters.ended.rejected).toBe(1);
  });

  it.each([486, 487, 603, 404, 480])("with %i goes to the caller and to no other agent", (status) => {
    const bench = new CallBench();
    const caller = bench.invite();
    bench.signalling.last("INVITE").respond(status);
    expect(caller.statuses).toEqual([status]);
    expect(bench.signalling.all("INVITE")).toHaveLength(1);
  });

  it("by silence is given up after 4 s; its CANCEL waits in the engine, its place is free, and timer B is the evidence", () => {
    const bench = new CallBench();
    const caller = bench.invite();
    const silent = bench.signalling.last("INVITE");
    bench.clock.advance(3_999);
    expect(bench.signalling.all("INVITE")).toHaveLength(1);
    bench.clock.advance(1);
    expect(bench.signalling.all("INVITE")).toHaveLength(2);
    expect(silent.cancelled).toEqual({});
    expect(bench.sessions).toEqual([0, 1]);
    expect(bench.agent("a").letter).toBe("I");
    bench.signalling.last("INVITE").respond(200, { body: answer });
    silent.end({ kind: "timeout" });
    expect(bench.agent("a").letter).toBe("O");
    expect(caller.statuses).toEqual([200]);
    expect(bench.calls.list()[0]?.attempts[0]?.outcome).toBe("no-response");
  });

  it("is not given up for silence once 100 came, nor where 100 is not shown", () => {
    const bench = new CallBench();
    bench.invite();
    bench.signalling.last("INVITE").respond(100);
    bench.clock.advance(60_000);
    expect(bench.signalling.all("INVITE")).toHaveLength(1);
    const external = new CallBench();
    external.signalling.showsTrying = false;
    external.invite();
    external.clock.advance(31_000);
    expect(external.signalling.all("INVITE")).toHaveLength(1);
  });

  it("by silence from the last agent is 408 to the caller", () => {
    const bench = new CallBench({ agents: [{}] });
    const caller = bench.invite();
    bench.clock.advance(4_000);
    expect(caller.statuses).toEqual([408]);
    expect(bench.calls.active).toBe(0);
    expect(bench.sessions).toEqual([0]);
  });

  it("by transport failure takes the agent out and goes on at once", () => {
    const bench = new CallBench();
    bench.invite();
    bench.signalling.last("INVITE").end({ kind: "transport-failure", detail: "ECONNREFUSED" });
    expect(bench.signalling.all("INVITE")).toHaveLength(2);
    expect(bench.agent("a").letter).toBe("O");
  });

  it("by our own refusal is no agent's fault: a loop is 482", () => {
    const bench = new CallBench();
    const caller = bench.invite();
    bench.signalling.last("INVITE").end({ kind: "refused", cause: "loop", detail: "can not send request to myself" });
    expect(caller.statuses).toEqual([482]);
    expect(bench.agent("a").letter).toBe("I");
  });

  it("after early media ends the call, unless recurse-after-early-media", () => {
    for (const [setting, attempts] of [
      ["disabled", 1],
      ["enabled", 2],
    ] as const) {
      const bench = new CallBench({ failover: { "recurse-after-early-media": setting } });
      const caller = bench.invite();
      bench.signalling.last("INVITE").respond(183, { body: answer });
      bench.signalling.last("INVITE").respond(503);
      expect(bench.signalling.all("INVITE")).toHaveLength(attempts);
      expect(caller.statuses).toEqual(attempts === 1 ? [183, 503] : [183]);
    }
  });

  it("by ring-timeout is cancelled, and its place held until the phone has stopped ringing", () => {
    const bench = new CallBench({ failover: { "ring-timeout": 20 } });
    bench.invite();
    const ringing = bench.signalling.last("INVITE");
    ringing.respond(180);
    bench.clock.advance(20_000);
    expect(ringing.cancelled).toEqual({});
    expect(bench.sessions).toEqual([1, 1]);
    ringing.respond(487);
    expect(bench.sessions).toEqual([0, 1]);
    expect(bench.signalling.all("INVITE")).toHaveLength(2);
  });

  it("is acknowledged and hung up on when its 2xx comes late, and the call goes on elsewhere", () => {
    const bench = new CallBench();
    const caller = bench.invite();
    const slow = bench.signalling.last("INVITE");
    bench.clock.advance(4_000);
    slow.respond(200, { body: answer });
    expect(slow.acks).toHaveLength(1);
    expect(bench.signalling.last("BYE").request.dialogId).toBe(slow.dialogId);
    expect(caller.statuses).toEqual([]);
    expect(bench.sessions).toEqual([0, 1]);
  });

  it("passes a Retry-After on as evidence, capped, and never to the last agent in service", () => {
    const bench = new CallBench();
    bench.invite();
    bench.signalling.last("INVITE").respond(503, { headers: { "retry-after": "30 (busy)" } });
    expect(bench.agent("a").heldByRetryAfter).toBe(true);
  });
});

describe("the caller's CANCEL", () => {
  it("before the first provisional: nothing more to the caller, CANCEL left to the engine, place held until the end", () => {
    const bench = new CallBench();
    const caller = bench.invite();
    caller.onCancel?.({ reason: "SIP;cause=200" });
    const attempt = bench.signalling.last("INVITE");
    expect(attempt.cancelled).toEqual({ reason: "SIP;cause=200" });
    expect(bench.calls.list()).toMatchObject([{ state: "cancelled" }]);
    attempt.respond(180);
    attempt.respond(487);
    expect(caller.statuses).toEqual([]);
    expect(bench.calls.active).toBe(0);
    expect(bench.sessions).toEqual([0, 0]);
    expect(bench.signalling.all("INVITE")).toHaveLength(1);
    expect(bench.clock.pending).toBe(0);
  });

  it("crossing a 200: ACK and BYE to the agent", () => {
    const bench = new CallBench();
    const caller = bench.invite();
    const attempt = bench.signalling.last("INVITE");
    attempt.respond(180);
    caller.onCancel?.({});
    attempt.respond(200, { body: answer });
    expect(attempt.acks).toHaveLength(1);
    expect(bench.signalling.last("BYE").request.dialogId).toBe(attempt.dialogId);
    expect(caller.statuses).toEqual([180]);
    expect(bench.sessions).toEqual([0, 0]);
    expect(bench.calls.active).toBe(0);
  });

  it("overtaking our 200: the engine refuses the 200, so the agent is hung up on", () => {
    const bench = new CallBench();
    const caller = bench.invite();
    caller.refusal = "Response not sent due to unknown transaction";
    const attempt = bench.signalling.last("INVITE");
    attempt.respond(200, { body: answer });
    expect(attempt.acks).toHaveLength(1);
    expect(bench.signalling.last("BYE").request.dialogId).toBe(attempt.dialogId);
    expect(bench.calls.active).toBe(0);
    expect(bench.sessions).toEqual([0, 0]);
  });

  it("is not failed over by a 503 that follows", () => {
    const bench = new CallBench();
    const caller = bench.invite();
    caller.onCancel?.({});
    bench.signalling.last("INVITE").respond(503);
    expect(bench.signalling.all("INVITE")).toHaveLength(1);
    expect(bench.calls.active).toBe(0);
  });

  it("frees the place after 4 s when the agent never ends the attempt, without calling it dead if it rang", () => {
    const bench = new CallBench();
    const caller = bench.invite();
    const attempt = bench.signalling.last("INVITE");
    attempt.respond(180);
    caller.onCancel?.({});
    expect(bench.sessions).toEqual([1, 0]);
    bench.clock.advance(4_000);
    expect(bench.sessions).toEqual([0, 0]);
    expect(bench.calls.active).toBe(0);
    attempt.end({ kind: "timeout" });
    expect(bench.agent("a").letter).toBe("I");
    expect(bench.defects).toEqual([]);
  });

  it("as a BYE in the early dialog: 487 to the INVITE", () => {
    const bench = new CallBench();
    const caller = bench.invite();
    bench.signalling.last("INVITE").respond(180);
    expect(bench.fromCaller("BYE").statuses).toEqual([200]);
    expect(caller.statuses).toEqual([180, 487]);
    expect(bench.signalling.last("INVITE").cancelled).toEqual({});
  });
});
