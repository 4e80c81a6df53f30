import { describe, expect, it } from "vitest";
import { answer, CallBench } from "../support/call-bench.ts";
import type { FakeExchange } from "../support/fake-signalling.ts";

const callerDialog = "in-1;from-tag=theirs";

/** A call that is up, whose agent answered with these fields. */
function talk(bench: CallBench, headers: Record<string, string> = {}): FakeExchange {
  bench.invite();
  const agent = bench.signalling.last("INVITE");
  agent.respond(200, { body: answer, headers });
  bench.ackFromCaller();
  return agent;
}

const byes = (bench: CallBench): string[] => bench.signalling.all("BYE").map(({ request }) => request.dialogId);

function expectOver(bench: CallBench, end: string, agent: FakeExchange): void {
  expect(byes(bench).sort()).toEqual([callerDialog, agent.dialogId].sort());
  expect(bench.sessions).toEqual([0, 0]);
  expect([bench.calls.active, bench.clock.pending]).toEqual([0, 0]);
  expect(bench.logged.at(-1)).toMatchObject({ end, status: 200 });
  expect(bench.calls.counters.ended).toMatchObject({ [end]: 1 });
}

it("nothing is minded of a call whose answer the engine refuses at once", () => {
  const bench = new CallBench();
  const caller = bench.invite();
  caller.refusal = "larger than the engine takes";
  bench.signalling.last("INVITE").respond(200, { body: answer, headers: { "session-expires": "1800" } });
  expect([bench.calls.active, bench.clock.pending]).toEqual([0, 0]);
});

describe("a session timer (RFC 4028) that both sides have agreed on", () => {
  it("ends the call when nobody refreshes it, and frees its places", () => {
    const bench = new CallBench();
    const agent = talk(bench, { "session-expires": "1800;refresher=uac" });
    const expires = new Date(bench.clock.date() + 1_800_000).toISOString();
    expect(bench.calls.list()).toMatchObject([{ expires }]);
    bench.clock.advance(1_799_999);
    expect([bench.calls.active, byes(bench)]).toEqual([1, []]);
    bench.clock.advance(1);
    expectOver(bench, "session-expired", agent);
  });

  it.each([
    ["fromCaller", "UPDATE"],
    ["fromAgent", "UPDATE"],
    ["fromCaller", "INVITE"],
    ["fromAgent", "INVITE"],
  ] as const)("begins anew with each refresh that is accepted: %s, %s", (from, method) => {
    const bench = new CallBench();
    const agent = talk(bench, { "session-expires": "90" });
    bench.clock.advance(60_000);
    bench[from](method, { headers: { "session-expires": "90" } });
    bench.signalling.last(method).respond(200, { headers: { "session-expires": "120;refresher=uas" } });
    bench.clock.advance(119_999);
    expect(bench.calls.active).toBe(1);
    bench.clock.advance(1);
    expectOver(bench, "session-expired", agent);
  });

  it("goes on over a refresh that is refused, and over other requests", () => {
    const bench = new CallBench();
    const agent = talk(bench, { "session-expires": "90" });
    bench.clock.advance(60_000);
    bench.fromCaller("UPDATE");
    bench.signalling.last("UPDATE").respond(422, { headers: { "session-expires": "3600", "min-se": "120" } });
    bench.fromAgent("INFO");
    bench.signalling.last("INFO").respond(200, { headers: { "session-expires": "3600" } });
    bench.clock.advance(30_000);
    expectOver(bench, "session-expired", agent);
  });

  it("ends with a refresh that is accepted without one (section 7.2)", () => {
    const bench = new CallBench();
    talk(bench, { "session-expires": "90" });
    bench.fromCaller("UPDATE");
    bench.signalling.last("UPDATE").respond(200);
    bench.clock.advance(10_000_000);
    expect(bench.calls.list()).toMatchObject([{ state: "confirmed", expires: null }]);
  });

  it("is over with the call", () => {
    const bench = new CallBench();
    talk(bench, { "session-expires": "90" });
    bench.fromCaller("BYE");
    expect([bench.calls.active, bench.clock.pending]).toEqual([0, 0]);
  });

  it.each(["", "0", "-5", "soon", "99999999999"])("is none where it says %j", (value) => {
    const bench = new CallBench();
    talk(bench, { "session-expires": value });
    expect(bench.calls.list()).toMatchObject([{ expires: null }]);
    expect(bench.clock.pending).toBe(0);
  });
});

describe("dialog-ping-interval", () => {
  const sessions = { "max-life-limit": 0, "dialog-ping-interval": 300 };

  /** The OPTIONS of one round, to the caller and to the agent. */
  function pinged(bench: CallBench): FakeExchange[] {
    bench.clock.advance(300_000);
    return bench.signalling.all("OPTIONS").slice(-2);
  }

  it("asks both sides within their dialogs, again and again, whatever they answer", () => {
    const bench = new CallBench({ sessions });
    const agent = talk(bench);
    for (const status of [200, 405, 500]) {
      const round = pinged(bench);
      expect(round.map(({ request }) => request.dialogId)).toEqual([callerDialog, agent.dialogId]);
      for (const ping of round) ping.respond(status);
    }
    expect(bench.signalling.all("OPTIONS")).toHaveLength(6);
    expect([bench.calls.active, byes(bench)]).toEqual([1, []]);
    bench.fromAgent("BYE");
    expect(bench.clock.pending).toBe(0);
  });

  it.each([0, 1])("ends the call when side %i cannot be reached twice in a row", (side) => {
    const bench = new CallBench({ sessions });
    const agent = talk(bench);
    const unreached = { kind: "transport-failure", detail: "port closed" } as const;
    pinged(bench)[side]?.end(unreached);
    pinged(bench)[side]?.respond(200);
    pinged(bench)[side]?.end(unreached);
    pinged(bench)[1 - side]?.end(unreached);
    expect([bench.calls.active, byes(bench)]).toEqual([1, []]);
    pinged(bench)[1 - side]?.end(unreached);
    expectOver(bench, "dialog-gone", agent);
  });

  it.each([0, 1])("ends the call when side %i knows it no more, or says nothing", (side) => {
    for (const gone of [481, 408, "timeout"] as const) {
      const bench = new CallBench({ sessions });
      const agent = talk(bench);
      const round = pinged(bench);
      if (gone === "timeout") round[side]?.end({ kind: "timeout" });
      else round[side]?.respond(gone);
      expectOver(bench, "dialog-gone", agent);
      round[1 - side]?.respond(481);
      expect(byes(bench)).toHaveLength(2);
    }
  });
});

describe("max-life-limit", () => {
  it("ends a call that lasts for too long, however well it is refreshed", () => {
    const bench = new CallBench({ sessions: { "max-life-limit": 3_600, "dialog-ping-interval": 0 } });
    const agent = talk(bench, { "session-expires": "1800" });
    for (let refresh = 0; refresh < 3; refresh++) {
      bench.clock.advance(1_000_000);
      bench.fromCaller("UPDATE");
      bench.signalling.last("UPDATE").respond(200, { headers: { "session-expires": "1800" } });
    }
    bench.clock.advance(599_999);
    expect(bench.calls.active).toBe(1);
    bench.clock.advance(1);
    expectOver(bench, "life-limit", agent);
  });

  it("does not count the time before the answer", () => {
    const bench = new CallBench({ sessions: { "max-life-limit": 100, "dialog-ping-interval": 0 } });
    bench.invite();
    const agent = bench.signalling.last("INVITE");
    agent.respond(180);
    bench.clock.advance(99_000);
    agent.respond(200, { body: answer });
    bench.ackFromCaller();
    bench.clock.advance(99_999);
    expect(bench.calls.active).toBe(1);
    bench.clock.advance(1);
    expectOver(bench, "life-limit", agent);
  });
});
