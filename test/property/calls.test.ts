import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { answer, CallBench, offer } from "../support/call-bench.ts";
import type { FakeExchange, FakeRequest } from "../support/fake-signalling.ts";

/** One thing that the network, the clock or the operator does to a bench with one caller and three agents. */
type Stimulus = (bench: Stage) => void;

/** A bench, and what is still open in it. */
class Stage {
  readonly bench = new CallBench({
    agents: [{ "max-outbound-sessions": 3, "trans-timeouts": 0 }, { "trans-timeouts": 0 }, { "trans-timeouts": 0 }],
    failover: { "ring-timeout": 30 },
  });
  readonly callers: FakeRequest[] = [];
  readonly #over = new Set<FakeExchange>();

  /** The n-th request sent that has no final response yet. */
  open(n: number): FakeExchange | undefined {
    const open = this.bench.signalling.sent.filter((exchange) => !this.#over.has(exchange));
    return open[n % Math.max(1, open.length)];
  }

  respond(n: number, status: number, body = ""): void {
    const exchange = this.open(n);
    if (!exchange) return;
    if (status >= 200) this.#over.add(exchange);
    exchange.respond(status, { body, reliable: status === 183 });
  }

  timeOut(n: number): void {
    const exchange = this.open(n);
    if (!exchange) return;
    this.#over.add(exchange);
    exchange.end({ kind: "timeout" });
  }
}

const nth = fc.nat({ max: 5 });
const callId = (n: number) => ({ headers: { "call-id": `in-${n}` } });

const stimulus: fc.Arbitrary<Stimulus> = fc.oneof(
  nth.map(
    (n) =>
      ({ bench, callers }: Stage) =>
        void callers.push(bench.invite({ ...callId(n), body: n % 2 ? offer : "" })),
  ),
  fc
    .tuple(
      nth,
      fc.constantFrom(100, 180, 183, 200, 202, 302, 408, 486, 487, 491, 503, 603),
      fc.constantFrom("", answer),
    )
    .map(
      ([n, status, body]) =>
        (stage: Stage) =>
          stage.respond(n, status, body),
    ),
  nth.map((n) => (stage: Stage) => stage.timeOut(n)),
  nth.map(
    (n) =>
      ({ callers }: Stage) =>
        callers[n]?.onCancel?.({}),
  ),
  nth.map(
    (n) =>
      ({ bench }: Stage) =>
        bench.calls.ack({ dialogId: `in-${n};from-tag=theirs`, headers: {}, body: "" }),
  ),
  fc.tuple(nth, fc.constantFrom("BYE", "INVITE", "INFO", "PRACK", "UPDATE")).map(
    ([n, method]) =>
      ({ bench }: Stage) =>
        void bench.within(`in-${n};from-tag=theirs`, method),
  ),
  fc.tuple(nth, fc.constantFrom("BYE", "INVITE", "INFO")).map(([n, method]) => ({ bench }: Stage) => {
    const invite = bench.signalling.all("INVITE")[n];
    if (invite) bench.within(invite.dialogId, method);
  }),
  nth.map(
    (n) =>
      ({ bench }: Stage) =>
        bench.calls.dialogEnded(`in-${n};from-tag=theirs`),
  ),
  fc.constantFrom(100, 4_000, 30_000).map(
    (ms) =>
      ({ bench }: Stage) =>
        bench.clock.advance(ms),
  ),
);

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

describe("calls, whatever happens in whatever order", () => {
  const play = (stimuli: readonly Stimulus[]) => {
    const stage = new Stage();
    for (const each of stimuli) {
      each(stage);
      for (const sessions of stage.bench.sessions) expect(sessions).toBeGreaterThanOrEqual(0);
      expect(stage.bench.sessions[0]).toBeLessThanOrEqual(3);
    }
    return stage;
  };
  const expectNothingLeft = ({ bench }: Stage) => {
    expect(bench.calls.list()).toEqual([]);
    expect(bench.sessions).toEqual([0, 0, 0]);
    expect(bench.defects).toEqual([]);
    expect(bench.clock.pending).toBe(0);
    const { received, refused, ended } = bench.calls.counters;
    expect(sum(Object.values(refused)) + sum(Object.values(ended))).toBe(received);
  };

  it("say nothing to a caller after its final response", () => {
    fc.assert(
      fc.property(fc.array(stimulus, { maxLength: 40 }), (stimuli) => {
        for (const { statuses } of play(stimuli).callers) {
          // Nothing follows a final response.
          const final = statuses.findIndex((status) => status >= 200);
          expect(final === -1 || final === statuses.length - 1, statuses.join()).toBe(true);
        }
      }),
    );
  });

  it("leave nothing behind once the operator has ended them and the agents have answered", () => {
    fc.assert(
      fc.property(fc.array(stimulus, { maxLength: 40 }), (stimuli) => {
        const stage = play(stimuli);
        stage.bench.calls.endAll();
        for (let exchange = stage.open(0); exchange; exchange = stage.open(0)) {
          stage.respond(0, exchange.request.method === "INVITE" ? 487 : 200);
        }
        stage.bench.clock.advance(4_000);
        expectNothingLeft(stage);
      }),
    );
  });

  it("leave nothing behind once the engine is lost, at once but for attempts given up before", () => {
    fc.assert(
      fc.property(fc.array(stimulus, { maxLength: 40 }), (stimuli) => {
        const stage = play(stimuli);
        stage.bench.calls.disconnected();
        expect(stage.bench.calls.list()).toEqual([]);
        stage.bench.clock.advance(4_000);
        expectNothingLeft(stage);
      }),
    );
  });
});
