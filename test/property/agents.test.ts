import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentParams } from "../../src/agents/params.ts";
import type { AdmitRequest, Lease, StateLetter } from "../../src/agents/session-agent.ts";
import { AgentModel } from "../support/agent-model.ts";
import { AgentBench, agentWith } from "../support/agents.ts";

type Purpose = "traffic" | "ping";
type Step =
  | { readonly do: "admit"; readonly request: AdmitRequest; readonly times: number }
  | { readonly do: "release" | "answer"; readonly which: number }
  | { readonly do: "wait"; readonly ticks: number }
  | { readonly do: "timeout" | "response"; readonly purpose: Purpose }
  | { readonly do: "refused connection" }
  | { readonly do: "retry-after"; readonly seconds: number }
  | { readonly do: "set admin"; readonly admin: "enabled" | "draining" | "disabled" }
  | { readonly do: "configure"; readonly limits: Partial<AgentParams> };

const tickMs = 100;
const direction = fc.constantFrom("inbound", "outbound");
const purpose = fc.constantFrom<Purpose>("traffic", "ping");
const concurrent = fc.constantFrom(1, 2, 5, 9);
const rate = fc.constantFrom(0.5, 1, 1.5, 3, 6);
const methodRates = fc
  .uniqueArray(fc.constantFrom("INVITE", "MESSAGE", "REGISTER"), { minLength: 1, maxLength: 2 })
  .chain((methods) =>
    fc.tuple(
      ...methods.map((method) =>
        fc.record({
          method: fc.constant(method),
          "max-inbound-burst-rate": fc.oneof(fc.constant(0), rate),
          "max-outbound-burst-rate": fc.oneof(fc.constant(0), rate),
          "max-inbound-sustain-rate": fc.oneof(fc.constant(0), rate),
          "max-outbound-sustain-rate": fc.oneof(fc.constant(0), rate),
        }),
      ),
    ),
  );

const everyLimit = {
  "max-sessions": concurrent,
  "max-inbound-sessions": concurrent,
  "max-outbound-sessions": concurrent,
  "max-burst-rate": rate,
  "max-inbound-burst-rate": rate,
  "max-outbound-burst-rate": rate,
  "max-sustain-rate": rate,
  "max-inbound-sustain-rate": rate,
  "max-outbound-sustain-rate": rate,
  "min-asr": fc.constantFrom(20, 50, 90),
  "max-register-burst-rate": rate,
  "max-register-sustain-rate": rate,
  "rate-constraints": methodRates,
};

/** One to three limits on at a time: with all of them on, few would ever be the one that matters. */
const limits: fc.Arbitrary<Partial<AgentParams>> = fc
  .tuple(
    fc.record(everyLimit),
    fc.uniqueArray(fc.constantFrom(...(Object.keys(everyLimit) as (keyof typeof everyLimit)[])), {
      minLength: 1,
      maxLength: 3,
    }),
  )
  .map(([all, names]) => Object.fromEntries(names.map((name) => [name, all[name]])));

const times = fc.record({
  "burst-rate-window": fc.constantFrom(1, 2),
  "sustain-rate-window": fc.constantFrom(3, 5),
  "register-burst-window": fc.constantFrom(1, 4),
  "min-seizures": fc.constantFrom(1, 3),
  "trans-timeouts": fc.constantFrom(0, 1, 2),
  "ping-failure-threshold": fc.constantFrom(1, 2),
  "ping-success-threshold": fc.constantFrom(1, 2),
  "time-to-resume": fc.constantFrom(1, 3),
  "ttr-no-response": fc.constantFrom(0, 2),
  "in-service-period": fc.constantFrom(0, 1),
  "max-retry-after": fc.constantFrom(0, 4),
});

const request: fc.Arbitrary<AdmitRequest> = fc.record({
  direction,
  method: fc.oneof({ weight: 4, arbitrary: fc.constant("INVITE") }, fc.constantFrom("REGISTER", "MESSAGE", "OPTIONS")),
  exempt: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, fc.constant(true)),
  answersChallenge: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
});

const admit: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("admit"),
  request,
  times: fc.integer({ min: 1, max: 4 }),
});
const traffic: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: admit },
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom("release", "answer"), which: fc.nat(20) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("wait"), ticks: fc.integer({ min: 1, max: 30 }) }) },
  fc.record({ do: fc.constant("configure"), limits }),
);
const trouble: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: traffic },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("timeout", "response"), purpose }) },
  fc.record({ do: fc.constant("refused connection") }),
  fc.record({ do: fc.constant("retry-after"), seconds: fc.integer({ min: 1, max: 6 }) }),
  fc.record({ do: fc.constant("set admin"), admin: fc.constantFrom("enabled", "enabled", "draining", "disabled") }),
);
const steps = (step: fc.Arbitrary<Step>) => fc.array(step, { minLength: 10, maxLength: 80, size: "max" });

/** The agent and the model side by side. */
class Pair {
  readonly bench: AgentBench;
  readonly model: AgentModel;
  readonly #held: Lease[] = [];
  #announced: StateLetter = "I";
  readonly #isAnswered = new Set<Lease>();

  constructor(params: Partial<AgentParams>) {
    this.bench = new AgentBench(params);
    this.model = new AgentModel(agentWith(params));
  }

  run(next: Step): void {
    const { bench, model } = this;
    const now = bench.clock.now();
    switch (next.do) {
      case "admit":
        for (let i = 0; i < next.times; i++) this.#admit(next.request, now);
        break;
      case "release":
        this.#release(next.which);
        break;
      case "answer":
        this.#answer(next.which, now);
        break;
      case "wait":
        for (let tick = 0; tick < next.ticks; tick++) {
          bench.clock.advance(tickMs);
          model.pass(bench.clock.now());
          this.compare();
        }
        break;
      case "timeout":
        bench.agent.observe({ kind: "timeout", purpose: next.purpose });
        model.timeout(next.purpose, now);
        break;
      case "response":
        bench.agent.observe({ kind: "response", purpose: next.purpose, status: 200 });
        model.response(next.purpose, now);
        break;
      case "refused connection":
        bench.agent.observe({ kind: "transport-failure", purpose: "traffic", detail: "ECONNREFUSED" });
        model.transportFailure(now);
        break;
      case "retry-after":
        bench.agent.observe({ kind: "response", purpose: "traffic", status: 503, retryAfterS: next.seconds });
        model.response("traffic", now);
        model.retryAfter(next.seconds, now);
        break;
      case "set admin":
        bench.agent.setAdmin(next.admin);
        model.admin = next.admin;
        break;
      case "configure":
        this.#configure(next.limits);
        break;
    }
    this.compare();
    const { inboundActive: inbound, outboundActive: outbound } = bench.agent;
    expect({ inbound, outbound }).toEqual(model.active);
  }

  compare(): void {
    const { agent, clock, changes } = this.bench;
    const letter = this.model.letter(clock.now());
    for (const change of changes.splice(0)) {
      expect([change.from, change.to]).toEqual([this.#announced, expect.not.stringMatching(this.#announced)]);
      this.#announced = change.to;
    }
    // What was announced is what is shown, and what is shown is what the model says.
    if (this.#announced !== letter || agent.letter !== letter) {
      expect({ announced: this.#announced, shown: agent.letter }).toEqual({ announced: letter, shown: letter });
    }
  }

  /** Every lease released: all counts are zero, and nothing was wrong on the way. */
  end(): void {
    while (this.#held.length > 0) this.#release(0);
    expect([this.bench.agent.inboundActive, this.bench.agent.outboundActive]).toEqual([0, 0]);
    expect(this.bench.defects).toEqual([]);
  }

  #admit(request: AdmitRequest, now: number): void {
    const refused = this.model.refuses(request, now)?.sort();
    const room = this.bench.agent.room(request);
    const admission = this.bench.agent.admit(request);
    expect(room.admitted).toBe(admission.admitted);
    expect(admission.admitted ? undefined : admission.exceeded.map((each) => each.limit).sort()).toEqual(refused);
    if (!admission.admitted) return;
    this.model.admit(request, now);
    if (request.method === "INVITE" && !request.exempt) this.#held.push(admission.lease);
    else admission.lease.release("done");
  }

  #release(which: number): void {
    const [lease] = this.#held.splice(which % Math.max(1, this.#held.length), 1);
    if (!lease) return;
    lease.release("bye");
    this.model.active[lease.direction]--;
  }

  #answer(which: number, now: number): void {
    const lease = this.#held[which % Math.max(1, this.#held.length)];
    if (!lease) return;
    lease.answered();
    if (lease.direction === "outbound" && !this.#isAnswered.has(lease)) this.model.answered(now);
    this.#isAnswered.add(lease);
  }

  #configure(limits: Partial<AgentParams>): void {
    // A hold of the ratio, and a method that counts only from its first constraint on, are pinned by unit tests.
    const { "min-asr": _, "rate-constraints": __, ...changed } = limits;
    const params = { ...this.model.params, ...changed };
    this.bench.agent.configure(params);
    this.model.params = params;
  }
}

describe("a session agent, step by step beside a plain model of SEMANTICS", () => {
  const agree = (step: fc.Arbitrary<Step>) =>
    fc.assert(
      fc.property(limits, times, steps(step), (limitParams, timeParams, story) => {
        const pair = new Pair({ ...limitParams, ...timeParams });
        for (const each of story) pair.run(each);
        pair.end();
      }),
      { numRuns: 250 },
    );

  it("in health: is refused by the same limits, shows the same letter, announces each change once", () => {
    agree(traffic);
  });

  it("in trouble: goes out and comes back at the same moments", () => {
    agree(trouble);
  });
});
