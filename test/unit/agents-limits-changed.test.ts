import { describe, expect, it } from "vitest";
import type { AgentParams } from "../../src/agents/params.ts";
import { AgentBench, rates } from "../support/agents.ts";

type Params = Partial<AgentParams>;

describe("SEMANTICS 3, limits changed at run time", () => {
  const configure = (bench: AgentBench, params: Params) => bench.agent.configure({ ...bench.agent.params, ...params });

  it("a lower limit cuts no session and holds for the next", () => {
    const bench = new AgentBench({ "max-outbound-sessions": 4 });
    const leases = [bench.session(), bench.session(), bench.session()];
    configure(bench, { "max-outbound-sessions": 2 });
    expect([bench.agent.letter, bench.agent.outboundActive]).toEqual(["C", 3]);
    leases[0]?.release("bye");
    expect(bench.session()).toBeUndefined();
    leases[1]?.release("bye");
    expect(bench.session()).toBeDefined();
  });

  it("a limit taken away lets sessions in at once, with one event", () => {
    const bench = new AgentBench({ "max-burst-rate": 1 });
    bench.session();
    configure(bench, { "max-burst-rate": 0 });
    expect(bench.story).toEqual(["I>C max-burst-rate", "C>I max-burst-rate"]);
    expect(bench.admitted(9)).toBe(9);
  });

  it("a new limit counts what was there before it", () => {
    const bench = new AgentBench();
    bench.session("inbound");
    bench.admitted(3);
    configure(bench, { "max-sessions": 2, "max-burst-rate": 5 });
    expect(bench.admitted(9)).toBe(1);
  });

  it("another window keeps the attempts of the present one, so that a change lets no extra burst through", () => {
    const bench = new AgentBench({ "max-burst-rate": 2, "burst-rate-window": 4 });
    bench.admitted(6);
    configure(bench, { "burst-rate-window": 5 });
    expect(bench.admitted(9)).toBe(4);
  });

  it("a method's own rate may come and go", () => {
    const bench = new AgentBench({ "rate-constraints": rates("MESSAGE", { "max-inbound-burst-rate": 1 }) });
    expect(bench.requests("MESSAGE", 3, "inbound")).toBe(1);
    configure(bench, { "rate-constraints": rates("MESSAGE", { "max-inbound-burst-rate": 3 }) });
    expect(bench.requests("MESSAGE", 3, "inbound")).toBe(2);
    configure(bench, { "rate-constraints": [] });
    expect(bench.requests("MESSAGE", 3, "inbound")).toBe(3);
  });

  it("min-asr 0 ends its hold", () => {
    const bench = new AgentBench({ "min-asr": 50 });
    bench.admitted(9);
    expect(bench.agent.letter).toBe("C");
    configure(bench, { "min-asr": 0 });
    expect(bench.agent.letter).toBe("I");
    // Judged afresh.
    configure(bench, { "min-asr": 50 });
    expect(bench.agent.letter).toBe("I");
  });

  it("time-to-resume holds for the hold of min-asr that is on", () => {
    const bench = new AgentBench({ "min-asr": 50 });
    bench.admitted(9);
    configure(bench, { "time-to-resume": 1 });
    bench.clock.advance(999);
    expect(bench.agent.letter).toBe("C");
    bench.clock.advance(1);
    expect(bench.agent.letter).toBe("I");
  });

  it("another burst-rate-window counts nothing of a window that is over", () => {
    const bench = new AgentBench({ "max-burst-rate": 5 });
    bench.admitted(3);
    bench.clock.advance(1_000);
    configure(bench, { "burst-rate-window": 2 });
    expect(bench.admitted(20)).toBe(10);
  });

  it.each([
    ["the window before", 20, 10_000],
    ["an earlier one", 3, 20_000],
  ])("another sustain-rate-window counts nothing of %s", (_, attempts, passed) => {
    const bench = new AgentBench({ "max-sustain-rate": 2, "sustain-rate-window": 10 });
    expect(bench.admitted(attempts)).toBe(attempts);
    bench.clock.advance(passed);
    configure(bench, { "sustain-rate-window": 5 });
    expect(bench.admitted(50)).toBe(10);
  });
});
