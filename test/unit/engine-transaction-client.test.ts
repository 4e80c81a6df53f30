import { describe, expect, it } from "vitest";
import { SipMessage } from "../../src/engine/message/sip-message.ts";
import { Bench, FakeFlow, message, nothing, responseFor } from "./engine-transaction-support.ts";

/** When a flow was sent something while the clock ran for `ms`, in milliseconds from the start. */
function sendTimes(bench: Bench, flow: FakeFlow, ms: number): number[] {
  const times: number[] = [];
  for (let at = 0; at <= ms; at += 100) {
    if (at > 0) bench.clock.advance(100);
    times.push(...flow.take().map(() => at));
  }
  return times;
}

describe("an INVITE of ours", () => {
  it("is sent again at doubling pauses over UDP and times out after 64*T1", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const { heard } = bench.send("INVITE", flow);
    expect(sendTimes(bench, flow, 31_900)).toEqual([0, 500, 1_500, 3_500, 7_500, 15_500, 31_500]);
    expect(heard).toEqual([]);
    bench.clock.advance(100);
    expect(heard).toEqual(["timeout"]);
    expect(bench.alive).toEqual(nothing);
    expect(flow.listeners).toBe(0);
    expect(bench.layer.counters).toMatchObject({ clientTransactions: 1, retransmissionsSent: 6, timeouts: 1 });
  });

  it("is sent once over TCP and times out all the same", () => {
    const bench = new Bench();
    const flow = new FakeFlow("tcp");
    const { heard } = bench.send("INVITE", flow);
    bench.clock.advance(32_000);
    expect(flow.take()).toEqual(["INVITE"]);
    expect(heard).toEqual(["timeout"]);
    expect(bench.alive).toEqual(nothing);
  });

  it("passes every provisional response up, 100 included, and is not sent again after the first", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const sent = bench.send("INVITE", flow);
    for (const status of [100, 180, 183]) sent.answer(status);
    bench.clock.advance(60_000);
    expect(sent.heard).toEqual(["100", "180", "183"]);
    expect(flow.take()).toEqual(["INVITE"]);
    expect(flow.listeners).toBe(0);
  });

  it("passes each 2xx up, repeated and forked ones too, for 64*T1", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const sent = bench.send("INVITE", flow);
    sent.answer(180);
    sent.answer(200);
    sent.answer(200);
    sent.answer(200, "other-fork");
    bench.clock.advance(31_999);
    sent.answer(200);
    expect(sent.heard).toEqual(["180", "200", "200", "200", "200"]);
    expect(bench.layer.counters.retransmissionsReceived).toBe(3);
    bench.clock.advance(1);
    expect(bench.alive).toEqual(nothing);
    expect(flow.take()).toEqual(["INVITE"]);
    sent.answer(200);
    expect(bench.take()).toEqual(["stray 200"]);
  });

  it("acknowledges a failure response by itself, and each repetition of it", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const sent = bench.send("INVITE", flow);
    sent.answer(486);
    sent.answer(486);
    expect(sent.heard).toEqual(["486"]);
    expect(flow.take()).toEqual(["INVITE", "ACK", "ACK"]);
    bench.clock.advance(32_000);
    expect(bench.alive).toEqual(nothing);
  });

  it("builds that ACK of its own Request-URI, top Via, Route, From and CSeq and the response's To (section 17.1.1.3)", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    bench.send("INVITE", flow).answer(503);
    const ack = message(flow.sent[1] ?? "");
    expect(ack.requestUri).toBe("sip:bob@127.0.0.2:5080");
    expect(ack.headerValues("via")).toEqual(["SIP/2.0/UDP 127.0.0.1:5060;rport;branch=z9hG4bK-INVITE"]);
    expect(ack.headers("route")).toEqual(["<sip:127.0.0.9;lr>"]);
    expect(ack.header("from")).toBe("<sip:alice@127.0.0.1>;tag=a");
    expect(ack.header("to")).toBe("<sip:bob@127.0.0.2>;tag=b");
    expect(ack.header("cseq")).toBe("7 ACK");
    expect(ack.callId).toBe("out@127.0.0.1");
    expect(ack.header("contact")).toBeUndefined();
  });

  it("is gone at once after a failure response over TCP", () => {
    const bench = new Bench();
    const flow = new FakeFlow("tcp");
    const sent = bench.send("INVITE", flow);
    sent.answer(486);
    expect(sent.heard).toEqual(["486"]);
    expect(flow.take()).toEqual(["INVITE", "ACK"]);
    expect(bench.alive).toEqual(nothing);
  });

  it("hands a 2xx that follows a failure response to the layer's user, who can end that call", () => {
    const bench = new Bench();
    const sent = bench.send("INVITE", new FakeFlow());
    sent.answer(486);
    sent.answer(200, "other-fork");
    expect(sent.heard).toEqual(["486"]);
    expect(bench.take()).toEqual(["stray 200"]);
  });

  it("keeps its wire text until the final response only", () => {
    const bench = new Bench();
    const sent = bench.send("INVITE", new FakeFlow());
    sent.answer(180);
    expect(sent.transaction.text).toContain("INVITE sip:bob");
    sent.answer(200);
    expect(sent.transaction.text).toBe("");
  });
});

describe("a failure of the transport", () => {
  it.each(["INVITE", "OPTIONS"])("ends an unanswered %s at once", (method) => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const { heard } = bench.send(method, flow);
    flow.fail();
    flow.fail();
    expect(heard).toEqual(["failure: connection refused"]);
    expect(bench.alive).toEqual(nothing);
    expect(flow.listeners).toBe(0);
    expect(bench.layer.counters.transportFailures).toBe(1);
  });

  it("leaves an INVITE alone that has had a provisional response: the final one may come by another way", () => {
    const bench = new Bench();
    const flow = new FakeFlow("tcp");
    const sent = bench.send("INVITE", flow);
    sent.answer(100);
    flow.fail();
    sent.answer(200);
    expect(sent.heard).toEqual(["100", "200"]);
  });

  it("ends every transaction on that flow, each told once", () => {
    const bench = new Bench();
    const flow = new FakeFlow("tcp");
    const all = ["1", "2", "3"].map((n) => bench.send("OPTIONS", flow, `z9hG4bK-${n}`));
    flow.fail(new Error("reset"));
    expect(all.map((each) => each.heard)).toEqual([["failure: reset"], ["failure: reset"], ["failure: reset"]]);
    expect(bench.alive).toEqual(nothing);
  });
});

describe("a request of ours other than INVITE", () => {
  it("is sent again at pauses doubling up to T2 and times out after 64*T1", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const { heard } = bench.send("BYE", flow);
    expect(sendTimes(bench, flow, 32_000)).toEqual([
      0, 500, 1_500, 3_500, 7_500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500,
    ]);
    expect(heard).toEqual(["timeout"]);
    expect(bench.alive).toEqual(nothing);
    expect(flow.listeners).toBe(0);
  });

  it("is sent again every T2 after a provisional response, and times out as well (figure 6)", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const sent = bench.send("BYE", flow);
    sent.answer(100);
    expect(sendTimes(bench, flow, 12_500)).toEqual([0, 500, 4_500, 8_500, 12_500]);
    bench.clock.advance(32_000);
    expect(sent.heard).toEqual(["100", "timeout"]);
    expect(bench.alive).toEqual(nothing);
  });

  it("passes the first final response up and absorbs its repetitions for T4", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const sent = bench.send("BYE", flow);
    sent.answer(200);
    sent.answer(200);
    expect(sent.heard).toEqual(["200"]);
    expect(flow.listeners).toBe(0);
    bench.clock.advance(4_999);
    expect(bench.layer.counts.clients).toBe(1);
    bench.clock.advance(1);
    expect(bench.alive).toEqual(nothing);
    expect(flow.take()).toEqual(["BYE"]);
  });

  it("cannot be cancelled", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const sent = bench.send("OPTIONS", flow);
    sent.answer(100);
    sent.transaction.cancel();
    expect(flow.take()).toEqual(["OPTIONS"]);
  });
});

describe("CANCEL of an INVITE of ours", () => {
  it("waits for the first provisional response (section 9.1)", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const sent = bench.send("INVITE", flow);
    sent.transaction.cancel();
    expect(flow.take()).toEqual(["INVITE"]);
    sent.answer(100);
    expect(flow.take()).toEqual(["CANCEL"]);
  });

  it("goes out at once after a provisional response, once, and the 487 ends the INVITE", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const sent = bench.send("INVITE", flow);
    sent.answer(180);
    sent.transaction.cancel();
    sent.transaction.cancel();
    bench.layer.receive(responseFor({ method: "CANCEL", branch: sent.transaction.branch }, 200), flow);
    sent.answer(487);
    expect(flow.take()).toEqual(["INVITE", "CANCEL", "ACK"]);
    expect(sent.heard).toEqual(["180", "487"]);
    bench.clock.advance(32_000);
    expect(bench.alive).toEqual(nothing);
    expect(flow.listeners).toBe(0);
  });

  it("bears the INVITE's Request-URI, single top Via, Route, From, To and CSeq number, and the lines added to it", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const sent = bench.send("INVITE", flow);
    sent.answer(180);
    sent.transaction.cancel('Reason: SIP ;cause=200 ;text="Call completed elsewhere"\r\n');
    const cancel = message(flow.sent[1] ?? "");
    expect(cancel).toBeInstanceOf(SipMessage);
    expect(cancel.requestUri).toBe("sip:bob@127.0.0.2:5080");
    expect(cancel.headerValues("via")).toEqual(["SIP/2.0/UDP 127.0.0.1:5060;rport;branch=z9hG4bK-INVITE"]);
    expect(cancel.headers("route")).toEqual(["<sip:127.0.0.9;lr>"]);
    expect(cancel.header("to")).toBe("<sip:bob@127.0.0.2>");
    expect(cancel.header("cseq")).toBe("7 CANCEL");
    expect(cancel.header("reason")).toBe('SIP ;cause=200 ;text="Call completed elsewhere"');
  });

  it("does not keep a 200 that crosses it from its user", () => {
    const bench = new Bench();
    const sent = bench.send("INVITE", new FakeFlow());
    sent.answer(180);
    sent.transaction.cancel();
    sent.answer(200);
    expect(sent.heard).toEqual(["180", "200"]);
    bench.clock.advance(60_000);
    expect(sent.heard).toEqual(["180", "200"]);
    expect(bench.alive).toEqual(nothing);
  });

  it("does nothing after the final response", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const sent = bench.send("INVITE", flow);
    sent.answer(200);
    sent.transaction.cancel();
    bench.clock.advance(60_000);
    expect(flow.take()).toEqual(["INVITE"]);
    expect(bench.alive).toEqual(nothing);
  });

  it("ends in a timeout when no final response follows within 64*T1", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const sent = bench.send("INVITE", flow);
    sent.answer(180);
    bench.clock.advance(10_000);
    sent.transaction.cancel();
    bench.clock.advance(31_999);
    expect(sent.heard).toEqual(["180"]);
    bench.clock.advance(1);
    expect(sent.heard).toEqual(["180", "timeout"]);
    expect(bench.alive).toEqual(nothing);
    expect(flow.listeners).toBe(0);
  });

  it("is never sent to a peer that never answers: timer B ends the INVITE", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const sent = bench.send("INVITE", flow);
    sent.transaction.cancel();
    bench.clock.advance(32_000);
    expect(sent.heard).toEqual(["timeout"]);
    expect(flow.take()).not.toContain("CANCEL");
    expect(bench.alive).toEqual(nothing);
  });

  it("comes by itself after three minutes without progress, which 180 prolongs and 100 does not", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const sent = bench.send("INVITE", flow);
    sent.answer(100);
    bench.clock.advance(100_000);
    sent.answer(180);
    bench.clock.advance(100_000);
    sent.answer(100);
    bench.clock.advance(79_999);
    expect(flow.take()).toEqual(["INVITE"]);
    bench.clock.advance(1);
    expect(flow.take()).toEqual(["CANCEL"]);
    bench.clock.advance(32_000);
    expect(sent.heard).toEqual(["100", "180", "100", "timeout"]);
    expect(bench.alive).toEqual(nothing);
  });
});

describe("a response", () => {
  it("belongs to the transaction of its branch and CSeq method only (section 17.1.3)", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const sent = bench.send("INVITE", flow);
    bench.layer.receive(responseFor({ method: "INVITE", branch: "z9hG4bK-other" }, 200), flow);
    bench.layer.receive(responseFor({ method: "OPTIONS", branch: sent.transaction.branch }, 200), flow);
    bench.layer.receive(responseFor({ method: "CANCEL", branch: sent.transaction.branch }, 200), flow);
    expect(sent.heard).toEqual([]);
    expect(bench.take()).toEqual(["stray 200", "stray 200", "stray 200"]);
    expect(bench.layer.counters.strayResponses).toBe(3);
  });

  it("with a second Via below ours is somebody else's (section 8.1.3.3)", () => {
    const bench = new Bench();
    const flow = new FakeFlow();
    const sent = bench.send("INVITE", flow);
    const { branch } = sent.transaction;
    const text = responseFor({ method: "INVITE", branch }, 486).text;
    const second = message(text.replace(/^(Via: .*)$/m, "$1\nVia: SIP/2.0/UDP other.example;branch=z9hG4bK-other"));
    bench.layer.receive(second, flow);
    expect(sent.heard).toEqual([]);
    expect(bench.layer.counters.strayResponses).toBe(1);
  });
});
