import { describe, expect, it } from "vitest";
import { Bench, FakeFlow, incoming, message, nothing, respond } from "./engine-transaction-support.ts";

describe("an incoming INVITE", () => {
  it("is answered by 100 at once and handed up once, however often it comes", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    for (let n = 0; n < 3; n++) bench.layer.receive(incoming("INVITE"), flow);
    expect(bench.take()).toEqual(["INVITE"]);
    expect(flow.take()).toEqual(["100", "100", "100"]);
    expect(bench.layer.counters).toMatchObject({ retransmissionsReceived: 2, retransmissionsSent: 2 });
  });

  it("has its latest provisional response repeated when it comes again", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    bench.layer.receive(incoming("INVITE"), flow);
    respond(bench.server, 180);
    bench.layer.receive(incoming("INVITE"), flow);
    expect(flow.take()).toEqual(["100", "180", "180"]);
  });

  it("gets a 100 with its Via filled in and no tag of ours", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    bench.layer.receive(incoming("INVITE", { sentBy: "pbx.example:5080" }), flow);
    const trying = message(flow.sent[0] ?? "");
    expect(trying.topVia.received).toBe("127.0.0.2");
    expect(trying.topVia.branch).toBe("z9hG4bK-in");
    expect(trying.toTag).toBe("");
  });

  it("has a failure response sent again at pauses doubling up to T2 until the ACK, which is not handed up", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    bench.layer.receive(incoming("INVITE"), flow);
    respond(bench.server, 503);
    bench.clock.advance(3_500);
    expect(flow.take()).toEqual(["100", "503", "503", "503", "503"]);
    bench.layer.receive(incoming("ACK"), flow);
    bench.layer.receive(incoming("ACK"), flow);
    bench.clock.advance(4_999);
    expect(bench.layer.counts.servers).toBe(1);
    bench.clock.advance(1);
    expect(flow.take()).toEqual([]);
    expect(bench.take()).toEqual(["INVITE"]);
    expect(bench.alive).toEqual(nothing);
  });

  it("is given up 64*T1 after a failure response that no ACK follows, and counted", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    bench.layer.receive(incoming("INVITE"), flow);
    respond(bench.server, 503);
    bench.clock.advance(32_000);
    expect(flow.take()).toHaveLength(1 + 11);
    expect(bench.alive).toEqual(nothing);
    expect(bench.layer.counters.missingAcks).toBe(1);
  });

  it("sends a failure response once over TCP", () => {
    const bench = new Bench();
    const flow = new FakeFlow("tcp");
    bench.layer.receive(incoming("INVITE"), flow);
    respond(bench.server, 503);
    bench.clock.advance(31_000);
    expect(flow.take()).toEqual(["100", "503"]);
    bench.layer.receive(incoming("ACK"), flow);
    expect(bench.alive).toEqual(nothing);
    expect(flow.listeners).toBe(0);
  });

  it("lets its 2xx be sent again, hands ACKs up, and absorbs the INVITE meanwhile (RFC 6026 section 7.1)", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    bench.layer.receive(incoming("INVITE"), flow);
    const { server } = bench;
    expect(respond(server, 200)).toBe(true);
    expect(respond(server, 200)).toBe(true);
    bench.layer.receive(incoming("INVITE"), flow);
    bench.layer.receive(incoming("ACK", { branch: "z9hG4bK-ack" }), flow);
    // The ACK of a client without branches of its own per request comes with the INVITE's.
    bench.layer.receive(incoming("ACK"), flow);
    expect(flow.take()).toEqual(["100", "200", "200"]);
    expect(bench.take()).toEqual(["INVITE", "ack", "ack"]);
    bench.clock.advance(32_000);
    expect(bench.alive).toEqual(nothing);
    expect(respond(server, 200)).toBe(false);
  });

  it.each([200, 486])("refuses any other response after a %i", (final) => {
    const bench = new Bench();
    const flow = new FakeFlow();
    bench.layer.receive(incoming("INVITE"), flow);
    const { server } = bench;
    respond(server, final);
    expect(respond(server, 180)).toBe(false);
    expect(respond(server, final === 200 ? 486 : 200)).toBe(false);
    expect(server.final).toBe(final);
    expect(flow.take()).toEqual(["100", String(final)]);
  });

  it("repeats the failure response it gave, not one that was refused", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    bench.layer.receive(incoming("INVITE"), flow);
    respond(bench.server, 486);
    respond(bench.server, 200);
    bench.layer.receive(incoming("INVITE"), flow);
    expect(flow.take()).toEqual(["100", "486", "486"]);
  });
});

describe("an incoming request other than INVITE", () => {
  it("is handed up once and has its final response repeated for 64*T1", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    bench.layer.receive(incoming("OPTIONS"), flow);
    bench.layer.receive(incoming("OPTIONS"), flow);
    expect(flow.take()).toEqual([]);
    respond(bench.server, 200);
    bench.layer.receive(incoming("OPTIONS"), flow);
    expect(flow.take()).toEqual(["200", "200"]);
    expect(bench.take()).toEqual(["OPTIONS"]);
    bench.clock.advance(31_999);
    expect(bench.layer.counts.servers).toBe(1);
    bench.clock.advance(1);
    expect(bench.alive).toEqual(nothing);
  });

  it("is over with its final response over TCP", () => {
    const bench = new Bench();
    const flow = new FakeFlow("tcp");
    bench.layer.receive(incoming("OPTIONS"), flow);
    expect(flow.listeners).toBe(1);
    respond(bench.server, 200);
    expect(bench.alive).toEqual(nothing);
    expect(flow.listeners).toBe(0);
  });

  it("takes one final response only", () => {
    const bench = new Bench();
    bench.layer.receive(incoming("OPTIONS"), new FakeFlow());
    expect(respond(bench.server, 404)).toBe(true);
    expect(respond(bench.server, 200)).toBe(false);
    expect(bench.server.final).toBe(404);
  });
});

describe("a connection lost before the final response", () => {
  it("ends a request other than INVITE, whose user is told and can answer no more (section 17.2.4)", () => {
    const bench = new Bench();
    const flow = new FakeFlow("tcp");
    bench.layer.receive(incoming("OPTIONS"), flow);
    const told: string[] = [];
    bench.server.onTransportFailure = (error) => told.push(error.message);
    flow.fail(new Error("reset"));
    expect(told).toEqual(["reset"]);
    expect(bench.server.transportError?.message).toBe("reset");
    expect(respond(bench.server, 200)).toBe(false);
    expect(bench.alive).toEqual(nothing);
    expect(flow.listeners).toBe(0);
  });

  it("leaves an INVITE to be answered, in case the caller comes back (RFC 6026 section 7.1)", () => {
    const bench = new Bench();
    const flow = new FakeFlow("tcp");
    bench.layer.receive(incoming("INVITE"), flow);
    const told: string[] = [];
    bench.server.onTransportFailure = (error) => told.push(error.message);
    flow.fail(new Error("reset"));
    expect(told).toEqual(["reset"]);
    expect(respond(bench.server, 200)).toBe(true);
    bench.clock.advance(32_000);
    expect(bench.alive).toEqual(nothing);
    expect(flow.listeners).toBe(0);
  });
});

describe("an incoming CANCEL", () => {
  it("is answered by 200 with the INVITE's tag and handed up with the INVITE, once", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    bench.layer.receive(incoming("INVITE"), flow);
    const invite = bench.server;
    bench.layer.receive(incoming("CANCEL"), flow);
    bench.layer.receive(incoming("CANCEL"), flow);
    expect(bench.take()).toEqual(["INVITE", "cancel in@127.0.0.2 by CANCEL"]);
    expect(message(flow.sent[1] ?? "").toTag).toBe(invite.localTag);
    expect(flow.take()).toEqual(["100", "200", "200"]);
    respond(invite, 487);
    bench.layer.receive(incoming("ACK"), flow);
    bench.clock.advance(32_000);
    expect(bench.alive).toEqual(nothing);
  });

  it.each([200, 486])("is answered by 200 and changes nothing after a %i (section 9.2)", (final) => {
    const bench = new Bench();
    const flow = new FakeFlow();
    bench.layer.receive(incoming("INVITE"), flow);
    bench.server.localTag = "ours";
    respond(bench.server, final);
    bench.layer.receive(incoming("CANCEL"), flow);
    expect(bench.take()).toEqual(["INVITE"]);
    expect(message(flow.sent[2] ?? "").toTag).toBe("ours");
    expect(flow.take()).toEqual(["100", String(final), "200"]);
  });

  it.each([
    ["of another branch", { branch: "z9hG4bK-other" }],
    ["of another sender", { sentBy: "127.0.0.3:5080" }],
    ["of another sent-by port", { sentBy: "127.0.0.2:5081" }],
  ])("%s is answered by 481", (_, options) => {
    const bench = new Bench();
    const flow = new FakeFlow();
    bench.layer.receive(incoming("INVITE"), flow);
    bench.layer.receive(incoming("CANCEL", options), flow);
    expect(bench.take()).toEqual(["INVITE"]);
    expect(flow.take()).toEqual(["100", "481"]);
    expect(bench.layer.counters.strayCancels).toBe(1);
  });
});

describe("matching a request to its transaction (section 17.2.3)", () => {
  it("tells requests of one branch but another method or sender apart", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    bench.layer.receive(incoming("OPTIONS", { callId: "1" }), flow);
    bench.layer.receive(incoming("MESSAGE", { callId: "2" }), flow);
    bench.layer.receive(incoming("OPTIONS", { callId: "3", sentBy: "127.0.0.3:5080" }), flow);
    expect(bench.take()).toEqual(["OPTIONS", "MESSAGE", "OPTIONS"]);
  });

  it("hands up an ACK that belongs to no INVITE we know", () => {
    const bench = new Bench();
    bench.layer.receive(incoming("ACK", { branch: "z9hG4bK-unknown" }), new FakeFlow());
    expect(bench.take()).toEqual(["ack"]);
    expect(bench.alive).toEqual(nothing);
  });

  it("goes without magic cookie by Request-URI, From tag, Call-ID, CSeq and Via (RFC 2543)", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const old = { branch: "1" };
    bench.layer.receive(incoming("INVITE", old), flow);
    bench.layer.receive(incoming("INVITE", old), flow);
    bench.layer.receive(incoming("CANCEL", old), flow);
    expect(bench.take()).toEqual(["INVITE", "cancel in@127.0.0.2 by CANCEL"]);
    bench.layer.receive(incoming("INVITE", { ...old, callId: "other" }), flow);
    bench.layer.receive(incoming("INVITE", { ...old, cseq: 2 }), flow);
    bench.layer.receive(incoming("INVITE", { ...old, fromTag: "other" }), flow);
    bench.layer.receive(incoming("INVITE", { ...old, branch: "" }), flow);
    expect(bench.take()).toEqual(["INVITE", "INVITE", "INVITE"]);
    expect(bench.layer.counters.mergedRequests).toBe(1);
  });

  it("takes an ACK without magic cookie only if its To tag is the response's (RFC 2543)", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    bench.layer.receive(incoming("INVITE", { branch: "1" }), flow);
    respond(bench.server, 486);
    bench.layer.receive(incoming("ACK", { branch: "1", toTag: "someone-else" }), flow);
    expect(bench.take()).toEqual(["INVITE", "ack"]);
    bench.layer.receive(incoming("ACK", { branch: "1", toTag: bench.server.localTag }), flow);
    expect(bench.take()).toEqual([]);
    bench.clock.advance(5_000);
    expect(bench.alive).toEqual(nothing);
  });
});

describe("a request that reaches us by two ways (section 8.2.2.2)", () => {
  it("is refused by 482 the second time", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    bench.layer.receive(incoming("INVITE"), flow);
    bench.layer.receive(incoming("INVITE", { branch: "z9hG4bK-second", sentBy: "127.0.0.9" }), flow);
    expect(bench.take()).toEqual(["INVITE"]);
    expect(flow.take()).toEqual(["100", "482"]);
    expect(bench.layer.counters.mergedRequests).toBe(1);
    bench.layer.receive(incoming("ACK", { branch: "z9hG4bK-second", sentBy: "127.0.0.9" }), flow);
    respond(bench.server, 486);
    bench.layer.receive(incoming("ACK"), flow);
    bench.clock.advance(32_000);
    expect(bench.alive).toEqual(nothing);
  });

  it("is a new one again once the first is over", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    bench.layer.receive(incoming("OPTIONS"), flow);
    respond(bench.server, 200);
    bench.clock.advance(32_000);
    bench.layer.receive(incoming("OPTIONS", { branch: "z9hG4bK-second" }), flow);
    expect(bench.take()).toEqual(["OPTIONS", "OPTIONS"]);
  });

  it("is told from a request inside a dialog, and from one that answers a challenge", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    bench.layer.receive(incoming("INVITE", { toTag: "t" }), flow);
    bench.layer.receive(incoming("INVITE", { branch: "z9hG4bK-2", toTag: "t" }), flow);
    bench.layer.receive(incoming("INVITE", { branch: "z9hG4bK-3", cseq: 2 }), flow);
    bench.layer.receive(incoming("INVITE", { branch: "z9hG4bK-4", cseq: 3 }), flow);
    expect(bench.take()).toEqual(["INVITE", "INVITE", "INVITE", "INVITE"]);
  });
});
