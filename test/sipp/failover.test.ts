import { afterAll, beforeAll, expect, it } from "vitest";
import { callThrough } from "../support/call-through.ts";
import { onDrachtio } from "../support/external-engine.ts";
import { describeWithSipp, Sipp } from "../support/sipp.ts";
import { Weir } from "../support/weir.ts";

const talks = "uas-answer-and-bye";

describeWithSipp("an attempt that fails", () => {
  let weir: Weir;

  beforeAll(async () => {
    weir = await Weir.start({
      // An agent that does not answer leaves service, so each of these tests has its own.
      agents: {
        first: {},
        second: {},
        alone: { "max-retry-after": 0 },
        silent: {},
        "late-180": {},
        "late-200": {},
        "rings-on": {},
        closed: {},
        "closed-alone": {},
        refusing: { "transport-method": "TCP" },
        "refusing-alone": { "transport-method": "TCP" },
      },
      routes: {
        "100": ["first", "second"],
        "101": ["alone"],
        "110": ["silent", "second"],
        "111": ["late-180", "second"],
        "112": ["late-200", "second"],
        "120": ["rings-on", "second"],
        "130": ["closed", "second"],
        "131": ["closed-alone"],
        "140": ["refusing", "second"],
        "141": ["refusing-alone"],
      },
      groups: {
        "110": { "first-response-timeout": 0.5 },
        "111": { "first-response-timeout": 0.5 },
        "112": { "first-response-timeout": 0.5 },
        "120": { "ring-timeout": 1 },
      },
      t1: 100,
    });
  });
  afterAll(() => weir?.stop());

  it.each([408, 500, 503])("with %i is made again at the next agent, unseen by the caller", async (code) => {
    const { caller } = await callThrough(weir, {
      number: "100",
      caller: "uac-answer-and-bye",
      agents: { first: `uas-reject-${code}`, second: talks },
    });
    expect(caller?.received.filter((line) => / [3-6]\d\d /.test(line))).toEqual([]);
    // A 503 without Retry-After takes nothing out of service.
    expect((await weir.view("first")).state.letter).toBe("I");
  });

  it.each([480, 486, 603])("with %i is the caller's answer, and no other agent is asked", async (code) => {
    const next = await Sipp.start(talks, { local: weir.agent("second") });
    await callThrough(weir, {
      number: "100",
      caller: ["uac-refused", { keys: { code } }],
      agents: { first: `uas-reject-${code}` },
    });
    expect((await next.stop()).received).toEqual([]);
  });

  it.each([408, 500, 503])("with %i at the last agent passes that answer to the caller", async (code) => {
    await callThrough(weir, {
      number: "101",
      caller: ["uac-refused", { keys: { code } }],
      agents: { alone: `uas-reject-${code}` },
    });
  });

  it("with 503 after a 183 without media is made again at the next agent", async () => {
    await callThrough(weir, {
      number: "100",
      caller: "uac-answer-and-bye",
      agents: { first: "uas-183-then-503", second: talks },
    });
  });

  it("with 503 after early media ends the call, for the caller has heard the first agent", async () => {
    const next = await Sipp.start(talks, { local: weir.agent("second") });
    await callThrough(weir, {
      number: "100",
      caller: "uac-early-media-then-refused",
      agents: { first: "uas-early-media-then-503" },
    });
    expect((await next.stop()).received).toEqual([]);
  });

  it("by silence is made again at the next agent after first-response-timeout, and sends no CANCEL", async () => {
    const silent = await Sipp.start("uas-silent", { local: weir.agent("silent"), holdMs: 20_000 });
    const { caller } = await callThrough(weir, {
      number: "110",
      caller: "uac-answer-and-bye",
      agents: { second: talks },
    });
    const { received } = await silent.stop();
    expect(caller?.sent.filter((line) => line.startsWith("INVITE"))).toHaveLength(1);
    expect(received.length).toBeGreaterThan(0);
    expect(received.filter((line) => !line.startsWith("INVITE"))).toEqual([]);
  });

  it.for([
    ["CANCEL to its late 180", "late-180", "uas-cancelled-before-180", "111"],
    ["ACK and BYE to its late 200", "late-200", "uas-late-200", "112"],
  ] as const)(
    "by silence is cleaned up at the agent given up: %s",
    async ([, hostname, scenario, number], { skip }) => {
      skip(onDrachtio, "without 100 of drachtio-server there is no first-response-timeout");
      await callThrough(weir, {
        number,
        caller: ["uac-answer-and-bye", { holdMs: 100 }],
        agents: { [hostname]: scenario, second: talks },
      });
    },
  );

  it("by silence after 100 is cancelled after ring-timeout and made again at the next agent", async () => {
    await callThrough(weir, {
      number: "120",
      caller: "uac-answer-and-bye",
      agents: { "rings-on": "uas-100-then-silent", second: talks },
    });
  });

  it.each([
    ["a closed UDP port", "130", "closed"],
    ["a refused TCP connection", "140", "refusing"],
  ])(
    "at %s is made again at the next agent at once and takes the agent out of service",
    async (_, number, hostname) => {
      const begun = performance.now();
      await callThrough(weir, { number, caller: "uac-answer-and-bye", agents: { second: talks } });
      // Far below timer B (6.4 s here) and first-response-timeout (4 s).
      expect(performance.now() - begun).toBeLessThan(3_000);
      expect((await weir.view(hostname)).state.letter).toBe("O");
    },
  );

  it.each([
    ["a closed UDP port", "131"],
    ["a refused TCP connection", "141"],
  ])("at %s and has nowhere else to go is refused with 503, and so is the next call", async (_, number) => {
    for (let call = 0; call < 2; call++) {
      await callThrough(weir, { number, caller: ["uac-refused", { keys: { code: 503 } }], agents: {} });
    }
  });
});
