import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { onDrachtio } from "../support/external-engine.ts";
import type { Endpoint } from "../support/loopback.ts";
import { RawUa } from "../support/raw-ua.ts";
import { byeAfter, RawCall, responseTo, type SipText } from "../support/sip-text.ts";
import { Weir } from "../support/weir.ts";

/** Numbers from 0 to below `limit` (mulberry32): the same ones each run, though arrivals may take them in another order. */
function dice(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}

const later = (delayMs: number, act: () => void) => void setTimeout(act, delayMs);

/** An agent that rings, answers, refuses, crosses CANCELs and hangs up at moments that the dice choose. */
class HastyAgent {
  /** Call-IDs that were answered with 200 and not hung up on by either side. */
  readonly up = new Set<string>();
  answered = 0;
  readonly #seen = new Set<string>();
  readonly #roll: (limit: number) => number;
  readonly #pending = new Map<string, { readonly invite: SipText; readonly from: Endpoint }>();

  constructor(
    readonly local: Endpoint,
    roll: (limit: number) => number,
  ) {
    this.#roll = roll;
  }

  readonly react = ({ message, from }: { message: SipText; from: Endpoint }, ua: RawUa): void => {
    const id = message.header("Call-ID");
    const reply = (request: SipText, status: number, reason: string) =>
      ua.send(responseTo(request, status, reason, this.local), from);
    const final = (status: number, reason: string) => {
      const pending = this.#pending.get(id);
      if (!pending) return;
      this.#pending.delete(id);
      if (status === 200) {
        this.up.add(id);
        this.answered += 1;
      }
      reply(pending.invite, status, reason);
    };
    switch (message.status ? "" : message.method) {
      case "INVITE": {
        // On a busy machine Weir sends it again before the dice have fallen.
        if (this.#seen.has(id)) break;
        this.#seen.add(id);
        this.#pending.set(id, { invite: message, from });
        later(this.#roll(10), () => this.#pending.has(id) && reply(message, 180, "Ringing"));
        const [status, reason] = [
          [200, "OK"],
          [200, "OK"],
          [200, "OK"],
          [486, "Busy Here"],
        ][this.#roll(4)] as [number, string];
        later(this.#roll(30), () => final(status, reason));
        break;
      }
      case "CANCEL":
        reply(message, 200, "OK");
        if (this.#roll(3) === 0) final(200, "OK");
        else final(487, "Request Terminated");
        break;
      case "ACK":
        if (this.up.has(id) && this.#roll(3) === 0) {
          later(this.#roll(12), () => this.up.delete(id) && ua.send(byeAfter(message, this.local, from), from));
        }
        break;
      case "BYE":
        this.up.delete(id);
        reply(message, 200, "OK");
        break;
    }
  };
}

describe("calls whose sides act at any moment", () => {
  let weir: Weir;
  let agentUa: RawUa;
  let callerUa: RawUa;
  const seed = 20_260_712;
  const roll = dice(seed);
  let agent: HastyAgent;
  /** Call-ID → statuses of the finals, each counted once however often it came. */
  const finals = new Map<string, Set<number>>();
  const calls = new Map<string, RawCall>();

  beforeAll(async () => {
    weir = await Weir.start({ agents: { hasty: {} }, routes: { "100": ["hasty"] } });
    agent = new HastyAgent(weir.agent("hasty"), roll);
    agentUa = await RawUa.open(agent.local, agent.react);
    const local = await weir.caller();
    callerUa = await RawUa.open(local, ({ message, from }, ua) => {
      if (!message.status) {
        if (message.method !== "ACK") ua.send(responseTo(message, 200, "OK", local), from);
        return;
      }
      const call = calls.get(message.header("Call-ID"));
      if (!call || message.method !== "INVITE" || message.status < 200) return;
      ua.send(call.ack(message), weir.listen);
      const seen = finals.get(call.callId) ?? new Set();
      if (message.status === 200 && !seen.has(200))
        later(roll(12), () => ua.send(call.request("BYE", message), weir.listen));
      finals.set(call.callId, seen.add(message.status));
    });
  });
  afterAll(async () => {
    callerUa?.close();
    agentUa?.close();
    await weir?.stop();
  });

  it("end at both sides, with one final each, and leave every count at zero", async () => {
    const total = 400;
    // These sides say nothing twice, and on a busy machine the buffer of drachtio-server's socket overflows.
    const everyMs = onDrachtio ? 25 : 5;
    for (let begun = 0; begun < total; begun++) {
      const call = new RawCall(callerUa.local, weir.listen, "100");
      calls.set(call.callId, call);
      later(begun * everyMs, () => callerUa.send(call.invite(), weir.listen));
      if (roll(2) === 0) later(begun * everyMs + roll(40), () => callerUa.send(call.cancel(), weir.listen));
    }
    await eventually(`finals of all calls (seed ${seed})`, () => finals.size === total, {
      patienceMs: 25_000,
      found: () => finals.size,
    });
    await weir.idle();
    await eventually("no call up at the agent", () => agent.up.size === 0, { found: () => [...agent.up] });
    const outcomes = [...finals.values()];
    expect(outcomes.filter((statuses) => statuses.size !== 1)).toEqual([]);
    const count = (status: number) => outcomes.filter((statuses) => statuses.has(status)).length;
    // All three ends were met often, or the dice are loaded and this test shows nothing.
    expect(Math.min(count(200), count(486), count(487))).toBeGreaterThan(20);
    expect(count(200) + count(486) + count(487)).toBe(total);
    expect(agent.answered).toBeGreaterThan(count(200));
    expect((await weir.view("hasty")).state.letter).toBe("I");
  });
});
