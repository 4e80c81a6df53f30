import { describe, expect, it } from "vitest";
import { answer, CallBench } from "../support/call-bench.ts";
import { FakeRequest } from "../support/fake-signalling.ts";

const fromAgentA = { source: { protocol: "udp", address: "127.0.0.11", port: 5060 } };

describe("a caller is told (SEMANTICS section 7)", () => {
  it("404 No Routes Found when no policy matches", () => {
    const bench = new CallBench({ noRoute: true });
    expect(bench.invite().replies).toMatchObject([{ status: 404, reason: "No Routes Found" }]);
    expect(bench.calls.active).toBe(0);
  });

  it("503 when every candidate is out of service", () => {
    const bench = new CallBench();
    for (const name of ["a", "b"]) bench.agent(name).setAdmin("disabled");
    const { last } = bench.invite();
    expect(last).toMatchObject({ status: 503, reason: "Service Unavailable" });
    expect(last?.headers).not.toHaveProperty("retry-after");
  });

  it("503 with a Retry-After within the range when all candidates are at a limit", () => {
    const bench = new CallBench({ agents: [{ "max-outbound-sessions": 1 }] });
    bench.talk();
    expect(bench.invite({ headers: { "call-id": "in-2" } }).last).toMatchObject({
      status: 503,
      headers: { "retry-after": "4" },
    });
    expect(bench.sessions).toEqual([1]);
  });

  it("503 with Retry-After when it is an agent at its inbound limit", () => {
    const bench = new CallBench({ agents: [{ "max-inbound-sessions": 1 }, {}] });
    bench.agent("a").setAdmin("disabled");
    const first = bench.invite(fromAgentA);
    bench.signalling.last("INVITE").respond(200, { body: answer });
    expect(first.statuses).toEqual([200]);
    expect(bench.agent("a").inboundActive).toBe(1);
    const second = bench.invite({ ...fromAgentA, headers: { "call-id": "in-2" } });
    expect(second.last).toMatchObject({ status: 503, headers: { "retry-after": "4" } });
    expect(bench.calls.counters.refused).toEqual({ "recv-sa-exc-constraints": 1 });
    bench.fromCaller("BYE");
    expect(bench.agent("a").inboundActive).toBe(0);
  });

  it("403 when its realm takes agents alone", () => {
    const bench = new CallBench({ realm: { allow: "agents" } });
    expect(bench.invite().statuses).toEqual([403]);
    expect(bench.invite({ ...fromAgentA, headers: { "call-id": "in-2" } }).statuses).toEqual([]);
  });

  it("what the log names too, without an agent where none was asked", () => {
    const bench = new CallBench({ noRoute: true });
    bench.invite();
    expect(bench.logged.at(-1)).toMatchObject({ msg: "call ended", end: "rejected", status: 404, refusal: "no-route" });
    expect(bench.logged.at(-1)).not.toHaveProperty("agent");
  });

  it("what local-response-map says instead: status, phrase, cause; Retry-After stays with the name", () => {
    const responses = {
      "no-route": { status: 480, "q850-cause": 1 },
      "next-hop-sa-exc-constraints": { status: 480, reason: "All Lines Busy", "q850-cause": 42 },
      "too-many-hops": { reason: "Enough" },
    } as const;
    expect(new CallBench({ noRoute: true, responses }).invite().last).toEqual({
      status: 480,
      reason: "Temporarily Unavailable",
      headers: { reason: "Q.850;cause=1" },
      body: "",
      cause: "no-route",
    });
    const bench = new CallBench({ agents: [{ "max-outbound-sessions": 1 }], responses });
    bench.talk();
    expect(bench.invite({ headers: { "call-id": "in-2" } }).last).toMatchObject({
      status: 480,
      reason: "All Lines Busy",
      headers: { reason: "Q.850;cause=42", "retry-after": "4" },
    });
    expect(bench.invite({ headers: { "call-id": "in-3", "max-forwards": "0" } }).last).toMatchObject({
      status: 483,
      reason: "Enough",
      headers: {},
    });
  });

  it("503 when the process has no time for it; strangers hear of that no more than of anything else", () => {
    let asked = 0;
    const overload = { refuses: () => ++asked > 0 };
    expect(new CallBench({ overload }).invite().last).toMatchObject({ status: 503, headers: { "retry-after": "4" } });
    const bench = new CallBench({ overload, realm: { allow: "agents" } });
    expect(bench.invite().statuses).toEqual([403]);
    expect(bench.invite({ source: { protocol: "udp", address: "127.0.0.11", port: 5060 } }).statuses).toEqual([503]);
    expect(asked).toBe(2);
  });

  it("483 when it may make no further hop, and nobody's place is taken", () => {
    const bench = new CallBench();
    expect(bench.invite({ headers: { "max-forwards": "0" } }).statuses).toEqual([483]);
    expect(bench.sessions).toEqual([0, 0]);
  });

  it("400 when the INVITE cannot be passed on as it is", () => {
    const bench = new CallBench();
    const caller = bench.invite();
    bench.signalling.last("INVITE").end({ kind: "refused", cause: "bad-request", detail: "missing content-type" });
    expect(caller.statuses).toEqual([400]);
    expect(bench.signalling.all("INVITE")).toHaveLength(1);
  });
});

describe("while draining", () => {
  it("new calls get 503 with Retry-After, calls that are up go on, and the drain ends with the last", async () => {
    const bench = new CallBench();
    bench.talk();
    let drained = false;
    const drain = bench.calls.drain().then(() => {
      drained = true;
    });
    expect(bench.invite({ headers: { "call-id": "in-2" } }).last).toMatchObject({
      status: 503,
      headers: { "retry-after": "4" },
    });
    bench.fromCaller("INFO");
    expect(bench.signalling.all("INFO")).toHaveLength(1);
    await Promise.resolve();
    expect(drained).toBe(false);
    bench.fromCaller("BYE");
    await drain;
    expect(drained).toBe(true);
  });

  it("is over at once without calls", async () => {
    await expect(new CallBench().calls.drain()).resolves.toBeUndefined();
  });

  it("the deadline hangs up on both sides, and refuses callers not yet answered", () => {
    const bench = new CallBench();
    bench.talk();
    const ringing = bench.invite({ headers: { "call-id": "in-2" } });
    bench.signalling.last("INVITE").respond(180);
    bench.calls.endAll();
    expect(bench.signalling.all("BYE")).toHaveLength(2);
    expect(ringing.statuses).toEqual([180, 503]);
    expect(bench.signalling.last("INVITE").cancelled).toEqual({});
    bench.signalling.last("INVITE").respond(487);
    expect(bench.calls.active).toBe(0);
    expect(bench.sessions).toEqual([0, 0]);
  });
});

describe("a request outside any call", () => {
  const ask = (method: string, bench = new CallBench(), to = "<sip:x@y>") => {
    const request = new FakeRequest(method, { headers: { to } });
    bench.calls.request(request);
    return request.last;
  };

  it("OPTIONS is answered with what we take", () => {
    expect(ask("OPTIONS")).toMatchObject({ status: 200, headers: { accept: "application/sdp" } });
    expect(ask("OPTIONS")?.headers.allow).toContain("INVITE");
  });

  it("OPTIONS while draining is 503", () => {
    const bench = new CallBench();
    bench.calls.drain();
    expect(ask("OPTIONS", bench)).toMatchObject({ status: 503 });
  });

  it.each([
    ["REGISTER", 405],
    ["REFER", 405],
    ["FOO", 501],
    ["INFO", 481],
    ["NOTIFY", 481],
    ["BYE", 481],
    ["UPDATE", 481],
    ["PRACK", 481],
  ])("%s gets %i", (method, status) => {
    expect(ask(method)?.status).toBe(status);
    if (status === 405) expect(ask(method)?.headers).toHaveProperty("allow");
  });

  it("from a stranger gets 403 where only agents are taken, and from an agent is a sign of its life", () => {
    const bench = new CallBench({ realm: { allow: "agents" } });
    expect(ask("OPTIONS", bench)?.status).toBe(403);
    const request = new FakeRequest("OPTIONS", fromAgentA);
    bench.calls.request(request);
    expect(request.statuses).toEqual([200]);
    expect(bench.agent("a").lastActivity).toBe(bench.clock.now());
  });

  it("with a To tag that is unknown gets 481", () => {
    expect(ask("INFO", new CallBench(), "<sip:x@y>;tag=1")?.status).toBe(481);
    expect(ask("INVITE", new CallBench(), "<sip:x@y>;tag=1")?.status).toBe(481);
  });
});

describe("rate-constraints of an agent", () => {
  const rates = {
    method: "OPTIONS",
    "max-inbound-burst-rate": 2,
    "max-outbound-burst-rate": 0,
    "max-inbound-sustain-rate": 0,
    "max-outbound-sustain-rate": 0,
  };
  const limited = (method: "INVITE" | "OPTIONS") =>
    new CallBench({ agents: [{ "rate-constraints": [{ ...rates, method }] }] });

  it("refuse what it asks outside calls, but not what answers a challenge", () => {
    const bench = limited("OPTIONS");
    const ask = (headers = {}) => {
      const request = new FakeRequest("OPTIONS", { ...fromAgentA, headers });
      bench.calls.request(request);
      return request.last?.status;
    };
    expect([ask(), ask(), ask(), ask({ authorization: "Digest x" })]).toEqual([200, 200, 503, 200]);
    bench.clock.advance(1_000);
    expect(ask()).toBe(200);
    expect(bench.agent("a").letter).toBe("I");
  });

  it("count re-INVITEs and refuse none", () => {
    const bench = limited("INVITE");
    const caller = bench.invite(fromAgentA);
    bench.agent("a").setAdmin("draining");
    bench.signalling.last("INVITE").respond(200, { body: answer });
    bench.ackFromCaller();
    expect(caller.statuses).toEqual([200]);
    bench.clock.advance(1_000);
    for (let i = 0; i < 3; i++) {
      const again = bench.fromCaller("INVITE");
      bench.signalling.last("INVITE").respond(488);
      expect(again.statuses).toEqual([488]);
    }
    const next = bench.invite({ ...fromAgentA, headers: { "call-id": "in-2" } });
    expect(next.statuses).toEqual([503]);
    expect(bench.agent("a").snapshot().exceeded).toEqual({ "rate-constraints.INVITE.max-inbound-burst-rate": 1 });
  });
});
