import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Bench, FakeFlow, incoming, nothing, respond } from "./engine-transaction-support.ts";

/** Longer than anything may take: three minutes of silence, a CANCEL, and all timers behind it. */
const longEnough = 600_000;

const protocol = fc.constantFrom("udp" as const, "tcp" as const);
const pause = fc.record({ kind: fc.constant("pause" as const), ms: fc.integer({ min: 1, max: 40_000 }) });

describe("a request of ours, whatever the peer and the network do", () => {
  const step = fc.oneof(
    pause,
    fc.record({
      kind: fc.constant("answer" as const),
      status: fc.constantFrom(100, 180, 183, 200, 302, 404, 487, 503),
      toTag: fc.constantFrom("b", "fork"),
    }),
    fc.constant({ kind: "cancel" as const }),
    fc.constant({ kind: "fail" as const }),
  );

  it.each(["INVITE", "BYE"])("ends %s exactly once and leaves nothing behind", (method) => {
    fc.assert(
      fc.property(protocol, fc.array(step, { maxLength: 12 }), (transport, steps) => {
        const bench = new Bench();
        const flow = new FakeFlow(transport);
        const sent = bench.send(method, flow);
        for (const each of steps) {
          if (each.kind === "pause") bench.clock.advance(each.ms);
          else if (each.kind === "answer") sent.answer(each.status, each.toTag);
          else if (each.kind === "cancel") sent.transaction.cancel();
          else flow.fail();
        }
        bench.clock.advance(longEnough);
        const ends = sent.heard.filter((what) => !what.startsWith("1"));
        // A 2xx to INVITE is told each time it comes; then nothing else is.
        const told = method === "INVITE" && ends[0] === "200" ? [...new Set(ends)] : ends;
        expect(told).toHaveLength(1);
        expect(sent.heard.findIndex((what) => !what.startsWith("1"))).toBe(sent.heard.length - ends.length);
        expect(bench.alive).toEqual(nothing);
        expect(flow.listeners).toBe(0);
      }),
      { numRuns: 300 },
    );
  });
});

describe("a request of the peer, whatever it and the application do", () => {
  const step = fc.oneof(
    pause,
    fc.record({ kind: fc.constant("respond" as const), status: fc.constantFrom(180, 200, 486) }),
    fc.constantFrom({ kind: "repeat" as const }, { kind: "ack" as const }, { kind: "cancel" as const }),
    fc.constant({ kind: "fail" as const }),
  );

  it.each(["INVITE", "OPTIONS"])("leaves nothing of %s behind once it is answered", (method) => {
    fc.assert(
      fc.property(protocol, fc.array(step, { maxLength: 12 }), (transport, steps) => {
        const bench = new Bench();
        const flow = new FakeFlow(transport);
        const receive = (what: string) => bench.layer.receive(incoming(what), flow);
        receive(method);
        for (const each of steps) {
          if (each.kind === "pause") bench.clock.advance(each.ms);
          else if (each.kind === "respond") respond(bench.server, each.status);
          else if (each.kind === "fail") flow.fail();
          else receive(each.kind === "repeat" ? method : each.kind.toUpperCase());
        }
        // A repetition that comes after the end is a new request, so each one handed up gets its answer.
        for (const server of bench.servers) respond(server, 486);
        bench.clock.advance(longEnough);
        expect(bench.alive).toEqual(nothing);
        expect(flow.listeners).toBe(0);
        const finals = flow.sent.filter(
          (text) => /^SIP\/2\.0 [2-6].*\r\n/.test(text) && text.includes(` ${method}\r\n`),
        );
        expect(new Set(finals).size).toBeLessThanOrEqual(bench.servers.length);
      }),
      { numRuns: 300 },
    );
  });
});
