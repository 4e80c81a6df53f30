import { describe, expect, it } from "vitest";
import { answer, CallBench, offer } from "../support/call-bench.ts";

const callerDialog = "in-1;from-tag=theirs";

describe("requests within a call", () => {
  it.each(["INFO", "MESSAGE", "OPTIONS", "REFER", "NOTIFY", "SUBSCRIBE", "UPDATE", "PRACK", "FOO"])(
    "pass both ways with body and headers: %s",
    (method) => {
      const bench = new CallBench();
      const { agent } = bench.talk();
      for (const [from, dialogId] of [
        ["fromCaller", agent.dialogId],
        ["fromAgent", callerDialog],
      ] as const) {
        const request = bench[from](method, { body: "b\r\n\r\nc", headers: { "content-type": "x/y", event: "z" } });
        const passed = bench.signalling.last(method);
        expect(passed.request).toMatchObject({
          dialogId,
          body: "b\r\n\r\nc",
          headers: { "content-type": "x/y", event: "z" },
        });
        passed.respond(299, { reason: "So be it", body: "d", headers: { "X-R": "1" } });
        expect(request.replies).toEqual([{ status: 299, reason: "So be it", headers: { "X-R": "1" }, body: "d" }]);
      }
      expect(bench.calls.active).toBe(1);
    },
  );

  it("get 483 when they may make no further hop, and one hop less otherwise", () => {
    const bench = new CallBench();
    bench.talk();
    expect(bench.fromCaller("INFO", { headers: { "max-forwards": "0" } }).statuses).toEqual([483]);
    bench.fromCaller("INFO", { headers: { "max-forwards": "10" } });
    expect(bench.signalling.last("INFO").request.headers["max-forwards"]).toBe("9");
  });

  it.each([
    ["INFO", 481, true],
    ["INFO", 408, true],
    ["UPDATE", 481, true],
    ["INFO", 500, false],
    ["NOTIFY", 481, false],
    ["SUBSCRIBE", 481, false],
    ["PRACK", 481, false],
  ])("end the call when the peer knows its dialog no more: %s %i: %s", (method, status, ends) => {
    const bench = new CallBench();
    const { agent } = bench.talk();
    const request = bench.fromCaller(method);
    bench.signalling.last(method).respond(status);
    expect(request.statuses).toEqual([status]);
    const byes = bench.signalling.all("BYE").map((bye) => bye.request.dialogId);
    expect(byes).toEqual(ends ? [agent.dialogId, callerDialog] : []);
    expect(bench.sessions).toEqual(ends ? [0, 0] : [1, 0]);
  });

  it("end the call when the peer says nothing, or the engine has lost the dialog", () => {
    for (const outcome of [{ kind: "timeout" }, { kind: "refused", cause: "no-dialog", detail: "" }] as const) {
      const bench = new CallBench();
      bench.talk();
      const request = bench.fromAgent("INFO");
      bench.signalling.last("INFO").end(outcome);
      expect(request.statuses).toEqual([outcome.kind === "timeout" ? 408 : 481]);
      expect(bench.calls.active).toBe(0);
    }
  });

  it("get 481 when the call is over, crossing BYEs among them", () => {
    const bench = new CallBench();
    bench.talk();
    bench.fromCaller("BYE");
    expect(bench.fromAgent("BYE").statuses).toEqual([481]);
    expect(bench.defects).toEqual([]);
  });

  it("pass whatever the agent's state", () => {
    const bench = new CallBench({ agents: [{ "max-outbound-sessions": 1 }] });
    bench.talk();
    bench.agent("a").setAdmin("disabled");
    bench.fromCaller("INFO");
    expect(bench.signalling.all("INFO")).toHaveLength(1);
  });
});

describe("a re-INVITE", () => {
  it("passes with its offer; the answer comes back and the other leg is acknowledged at once", () => {
    const bench = new CallBench();
    const { agent } = bench.talk();
    const again = bench.fromCaller("INVITE", { body: offer });
    const passed = bench.signalling.last("INVITE");
    expect(passed.request).toMatchObject({ dialogId: agent.dialogId, body: offer });
    passed.respond(200, { body: answer });
    expect(again.last).toMatchObject({ status: 200, body: answer });
    expect(passed.acks).toEqual([undefined]);
  });

  it("without offer waits for the answer in the ACK", () => {
    const bench = new CallBench();
    bench.talk();
    bench.fromCaller("INVITE");
    const passed = bench.signalling.last("INVITE");
    passed.respond(200, { body: offer });
    expect(passed.acks).toEqual([]);
    bench.ackFromCaller(answer);
    expect(passed.acks).toEqual([{ headers: { "content-type": "application/sdp" }, body: answer }]);
  });

  it("is rejected as the other side rejects it, and the call goes on", () => {
    const bench = new CallBench();
    bench.talk();
    const again = bench.fromCaller("INVITE", { body: offer });
    bench.signalling.last("INVITE").respond(488);
    expect(again.statuses).toEqual([488]);
    expect(bench.fromCaller("INVITE", { body: offer }).statuses).toEqual([]);
    expect(bench.calls.active).toBe(1);
  });

  it("meets one of the other side: 491 to the later", () => {
    const bench = new CallBench();
    const { agent } = bench.talk();
    const first = bench.fromCaller("INVITE", { body: offer });
    const crossing = bench.signalling.last("INVITE");
    const request = bench.within(agent.dialogId, "INVITE", { body: offer });
    expect(request.statuses).toEqual([491]);
    crossing.respond(491);
    expect(first.statuses).toEqual([491]);
    const later = bench.within(agent.dialogId, "INVITE", { body: offer });
    expect(later.statuses).toEqual([]);
    expect(bench.signalling.last("INVITE").request.dialogId).toBe(callerDialog);
  });

  it("that overtakes the caller's ACK waits for it", () => {
    const bench = new CallBench();
    bench.invite();
    const agent = bench.signalling.last("INVITE");
    agent.respond(200, { body: answer });
    const early = bench.within(agent.dialogId, "INVITE", { body: offer });
    expect(bench.signalling.all("INVITE")).toHaveLength(1);
    expect(bench.within(agent.dialogId, "INVITE").statuses).toEqual([491]);
    bench.ackFromCaller();
    expect(bench.signalling.last("INVITE").request.dialogId).toBe(callerDialog);
    bench.signalling.last("INVITE").respond(200, { body: answer });
    expect(early.statuses).toEqual([200]);
  });

  it("that waits is answered when the call ends, or cancelled without a trace", () => {
    const bench = new CallBench();
    bench.invite();
    const agent = bench.signalling.last("INVITE");
    agent.respond(200, { body: answer });
    bench.within(agent.dialogId, "INVITE", { body: offer }).onCancel?.({});
    const second = bench.within(agent.dialogId, "INVITE", { body: offer });
    expect(second.statuses).toEqual([]);
    bench.fromCaller("BYE");
    expect(second.statuses).toEqual([487]);
    expect(bench.signalling.all("INVITE")).toHaveLength(1);
  });

  it("is the only one of its side: 500 with Retry-After to a second", () => {
    const bench = new CallBench();
    bench.talk();
    bench.fromCaller("INVITE", { body: offer });
    const second = bench.fromCaller("INVITE", { body: offer });
    expect(second.statuses).toEqual([500]);
    expect(second.last?.headers["retry-after"]).toBe("4");
  });

  it("of the other side waits for the ACK of the one before", () => {
    const bench = new CallBench();
    const { agent } = bench.talk();
    bench.fromCaller("INVITE", { body: offer });
    bench.signalling.last("INVITE").respond(200, { body: answer });
    bench.within(agent.dialogId, "INVITE", { body: offer });
    expect(bench.signalling.all("INVITE")).toHaveLength(2);
    bench.ackFromCaller();
    expect(bench.signalling.last("INVITE").request.dialogId).toBe(callerDialog);
  });

  it("is cancelled on the other leg too; a 2xx that crosses is acknowledged", () => {
    const bench = new CallBench();
    bench.talk();
    const again = bench.fromCaller("INVITE", { body: offer });
    const passed = bench.signalling.last("INVITE");
    again.onCancel?.({});
    expect(passed.cancelled).toEqual({});
    passed.respond(200, { body: answer });
    expect(passed.acks).toHaveLength(1);
    expect(again.statuses).toEqual([]);
    expect(bench.calls.active).toBe(1);
  });

  it("under way when the call ends is answered 487 and cancelled on the other leg", () => {
    const bench = new CallBench();
    const { agent } = bench.talk();
    const again = bench.fromCaller("INVITE", { body: offer });
    const passed = bench.signalling.last("INVITE");
    bench.within(agent.dialogId, "BYE");
    expect(again.statuses).toEqual([487]);
    expect(passed.cancelled).toEqual({});
    passed.respond(487);
    expect(again.statuses).toEqual([487]);
  });
});

describe("reliable provisional responses (RFC 3262)", () => {
  const supported = { headers: { supported: "100rel" } };

  it("are reliable to the caller too, whose PRACK settles the agent's", () => {
    const bench = new CallBench();
    const caller = bench.invite(supported);
    const agent = bench.signalling.last("INVITE");
    agent.respond(183, { body: answer, reliable: true });
    expect(caller.last).toMatchObject({ status: 183, headers: { require: "100rel" } });
    expect(bench.signalling.all("PRACK")).toEqual([]);
    const prack = bench.fromCaller("PRACK", {
      body: offer,
      headers: { rack: "1 1 INVITE", "content-type": "application/sdp" },
    });
    const passed = bench.signalling.last("PRACK");
    expect(passed.request).toMatchObject({
      dialogId: agent.dialogId,
      body: offer,
      headers: { rack: "7 1 INVITE", "content-type": "application/sdp" },
    });
    passed.respond(200, { body: answer });
    expect(prack.replies).toMatchObject([{ status: 200, body: answer }]);
  });

  it("are acknowledged in the caller's stead when it knows no PRACK", () => {
    const bench = new CallBench();
    const caller = bench.invite();
    bench.signalling.last("INVITE").respond(183, { body: answer, reliable: true });
    expect(caller.last?.headers).toEqual({});
    expect(bench.signalling.last("PRACK").request.headers).toEqual({ rack: "7 1 INVITE" });
  });

  it("are made for a caller that requires them, and its PRACK ends here", () => {
    const bench = new CallBench();
    const caller = bench.invite({ headers: { require: "100rel" } });
    bench.signalling.last("INVITE").respond(180);
    expect(caller.last?.headers).toMatchObject({ require: "100rel" });
    expect(bench.fromCaller("PRACK").statuses).toEqual([200]);
    expect(bench.signalling.all("PRACK")).toEqual([]);
  });

  it("of an agent given up meanwhile are settled here", () => {
    const bench = new CallBench();
    bench.invite(supported);
    bench.signalling.last("INVITE").respond(180, { reliable: true });
    bench.signalling.last("INVITE").respond(503);
    bench.signalling.last("INVITE").respond(180);
    expect(bench.fromCaller("PRACK").statuses).toEqual([200]);
    expect(bench.signalling.all("PRACK")).toEqual([]);
  });
});

describe("an early dialog", () => {
  it("takes UPDATE both ways", () => {
    const bench = new CallBench();
    bench.invite();
    const agent = bench.signalling.last("INVITE");
    agent.respond(183, { body: answer });
    bench.fromCaller("UPDATE", { body: offer });
    expect(bench.signalling.last("UPDATE").request.dialogId).toBe(agent.dialogId);
    bench.fromAgent("UPDATE", { body: offer });
    expect(bench.signalling.last("UPDATE").request.dialogId).toBe(callerDialog);
  });

  it("that does not exist yet is 481", () => {
    const bench = new CallBench();
    bench.invite();
    expect(bench.fromCaller("UPDATE").statuses).toEqual([481]);
  });

  it("is found by Call-ID and tags where the engine names none", () => {
    const bench = new CallBench();
    bench.invite();
    const agent = bench.signalling.last("INVITE");
    agent.respond(183);
    bench.within("", "INFO", { headers: { "call-id": "in-1", from: "<sip:a@b>;tag=theirs", to: "<sip:c@d>;tag=w" } });
    expect(bench.signalling.last("INFO").request.dialogId).toBe(agent.dialogId);
    bench.within("", "INFO", { headers: { "call-id": "out-1", from: "<sip:c@d>;tag=x", to: "<sip:a@b>;tag=ours" } });
    expect(bench.signalling.last("INFO").request.dialogId).toBe(callerDialog);
  });
});

describe("the signalling engine", () => {
  it("that is lost ends every call here, frees every place, and may hang up on what is left when it is back", () => {
    const bench = new CallBench();
    const { agent } = bench.talk();
    bench.invite({ headers: { "call-id": "in-2" } });
    expect(bench.calls.active).toBe(2);
    const sent = bench.signalling.sent.length;
    bench.calls.disconnected();
    expect(bench.signalling.sent).toHaveLength(sent);
    expect(bench.calls.active).toBe(0);
    expect(bench.sessions).toEqual([0, 0]);
    expect(bench.calls.counters.ended["link-lost"]).toBe(2);
    bench.calls.connected();
    expect(bench.signalling.all("BYE").map((bye) => bye.request.dialogId)).toEqual([callerDialog, agent.dialogId]);
  });
});
