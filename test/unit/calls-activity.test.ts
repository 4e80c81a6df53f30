import { describe, expect, it } from "vitest";
import { answer, CallBench } from "../support/call-bench.ts";
import { FakeRequest } from "../support/fake-signalling.ts";

const fromAgentB = { source: { protocol: "udp", address: "127.0.0.12", port: 5060 } };

/** A call from agent b to agent a, and how long ago each was last heard of or spoken to. */
function scene() {
  const bench = new CallBench({ agents: [{ "trans-timeouts": 2 }, {}] });
  bench.agent("b").setAdmin("draining");
  const caller = bench.invite(fromAgentB);
  const invite = bench.signalling.last("INVITE");
  const idle = (name: string) => bench.clock.now() - bench.agent(name).lastActivity;
  const answered = () => {
    invite.respond(200, { body: answer });
    bench.ackFromCaller();
    bench.clock.advance(60_000);
  };
  return { bench, caller, invite, idle, answered };
}

describe("a transaction with an agent leaves no ping due (SEMANTICS section 4.3)", () => {
  it.each(["INFO", "INVITE", "BYE"])(
    "when %s comes from it within a call, and for the agent it is sent on to",
    (method) => {
      const { bench, idle, answered } = scene();
      answered();
      bench.fromAgent(method);
      expect([idle("a"), idle("b")]).toEqual([0, 0]);
    },
  );

  it("when it answers within a call", () => {
    const { bench, idle, answered } = scene();
    answered();
    bench.fromCaller("INFO");
    bench.clock.advance(5_000);
    bench.signalling.last("INFO").respond(500);
    expect([idle("a"), idle("b")]).toEqual([0, 5_000]);
  });

  it("when it cancels, and when it is hung up on", () => {
    const { bench, caller, idle, invite } = scene();
    bench.clock.advance(1_000);
    caller.onCancel?.({});
    expect([idle("a"), idle("b")]).toEqual([1_000, 0]);
    invite.respond(200, { body: answer });
    bench.clock.advance(1_000);
    bench.signalling.last("BYE").respond(200);
    expect(idle("a")).toBe(0);
  });

  it("when an INVITE of its own is refused", () => {
    const bench = new CallBench({ agents: [{}, { "max-inbound-sessions": 1 }] });
    bench.invite(fromAgentB);
    bench.clock.advance(2_000);
    expect(bench.invite({ ...fromAgentB, headers: { "call-id": "in-2" } }).statuses).toEqual([503]);
    expect(bench.agent("b").lastActivity).toBe(bench.clock.now());
  });

  it.each(["OPTIONS", "BYE", "REGISTER"])("when %s comes from it outside any call, whatever the answer", (method) => {
    const { bench, idle } = scene();
    bench.clock.advance(9_000);
    bench.calls.request(new FakeRequest(method, fromAgentB));
    expect([idle("a"), idle("b")]).toEqual([9_000, 0]);
  });
});

describe("an answer within a call", () => {
  it("ends a run of timeouts, as any response does (SEMANTICS section 4.1)", () => {
    const { bench, answered } = scene();
    answered();
    const timeOut = () => {
      bench.invite({ headers: { "call-id": `in-${Math.random()}` } });
      bench.signalling.last("INVITE").end({ kind: "timeout" });
    };
    timeOut();
    bench.fromCaller("INFO");
    bench.signalling.last("INFO").respond(200);
    timeOut();
    expect(bench.agent("a").letter).toBe("I");
    timeOut();
    expect(bench.agent("a").letter).toBe("O");
  });
});

describe("the latency of an agent", () => {
  it("is that of first responses: to INVITE, and within a call", () => {
    const bench = new CallBench({ agents: [{}] });
    bench.invite();
    const invite = bench.signalling.last("INVITE");
    bench.clock.advance(30);
    invite.respond(100);
    bench.clock.advance(2_000);
    invite.respond(200, { body: answer });
    bench.ackFromCaller();
    bench.fromCaller("INFO");
    bench.clock.advance(10);
    bench.signalling.last("INFO").respond(200);
    expect(bench.agent("a").snapshot().latency).toEqual({ average: 20, maximum: 30 });
    bench.clock.advance(120_000);
    expect(bench.agent("a").snapshot().latency).toBeNull();
  });

  it("counts a call that is refused at once as well", () => {
    const bench = new CallBench({ agents: [{}] });
    bench.invite();
    bench.clock.advance(40);
    bench.signalling.last("INVITE").respond(486);
    expect(bench.agent("a").snapshot().latency).toEqual({ average: 40, maximum: 40 });
  });
});
