import { describe, expect, it } from "vitest";
import { TransactionCaps } from "../../src/engine/transaction/transaction-caps.ts";
import { Bench, FakeFlow, incoming, message, nothing, respond } from "./engine-transaction-support.ts";

describe("a source with as many transactions as it may have", () => {
  function full() {
    const bench = new Bench({ limits: { perSource: 2, total: 100 } });
    const flow = new FakeFlow();
    for (const n of [1, 2]) bench.layer.receive(incoming("INVITE", { branch: `z9hG4bK-${n}`, callId: `${n}` }), flow);
    flow.take();
    bench.take();
    return { bench, flow };
  }

  it("is refused a new one by 503 with Retry-After, which takes no transaction and is counted", () => {
    const { bench, flow } = full();
    bench.layer.receive(incoming("INVITE", { branch: "z9hG4bK-3", callId: "3" }), flow);
    const refusal = message(flow.sent[0] ?? "");
    expect(refusal.status).toBe(503);
    expect(refusal.header("retry-after")).toBe("10");
    expect(refusal.toTag).not.toBe("");
    expect(bench.take()).toEqual([]);
    expect(bench.layer.counts.servers).toBe(2);
    expect(bench.layer.counters.cappedRequests).toBe(1);
  });

  it("may still cancel, and send what belongs to a call", () => {
    const { bench, flow } = full();
    bench.layer.receive(incoming("CANCEL", { branch: "z9hG4bK-1", callId: "1" }), flow);
    bench.layer.receive(incoming("BYE", { branch: "z9hG4bK-4", callId: "4", toTag: "t" }), flow);
    expect(bench.take()).toEqual(["cancel 1 by CANCEL", "BYE"]);
  });

  it("has room again when a transaction is over", () => {
    const { bench, flow } = full();
    respond(bench.server, 200);
    bench.clock.advance(32_000);
    bench.layer.receive(incoming("OPTIONS", { branch: "z9hG4bK-5", callId: "5" }), flow);
    expect(bench.take()).toEqual(["OPTIONS"]);
  });
});

describe("the count of transactions by source", () => {
  it("limits each source and all together, and forgets a source without any", () => {
    const caps = new TransactionCaps({ perSource: 2, total: 3 });
    caps.add("a");
    caps.add("a");
    expect([caps.hasRoom("a"), caps.hasRoom("b")]).toEqual([false, true]);
    caps.add("b");
    expect([caps.hasRoom("a"), caps.hasRoom("b"), caps.hasRoom("c")]).toEqual([false, false, false]);
    caps.remove("a");
    expect([caps.hasRoom("a"), caps.hasRoom("b")]).toEqual([true, true]);
    caps.remove("a");
    caps.remove("b");
    expect(caps.sources).toBe(0);
  });
});

describe("a layer that is stopped", () => {
  it("leaves no transaction, timer or listener, tells nobody and sends nothing", () => {
    const bench = new Bench();
    const flow = new FakeFlow("tcp");
    const sent = [bench.send("INVITE", flow), bench.send("OPTIONS", flow), bench.send("INVITE", flow, "z9hG4bK-2")];
    sent[2]?.answer(180);
    sent[2]?.transaction.cancel();
    bench.layer.receive(incoming("INVITE"), flow);
    bench.layer.receive(incoming("OPTIONS", { branch: "z9hG4bK-o" }), flow);
    flow.take();
    bench.layer.stop();
    bench.clock.advance(300_000);
    expect(bench.alive).toEqual(nothing);
    expect(flow.listeners).toBe(0);
    expect(flow.take()).toEqual([]);
    expect(sent.map((each) => each.heard)).toEqual([[], [], ["180"]]);
  });
});
