import { describe, expect, it } from "vitest";
import { UnacknowledgedAnswers } from "../../src/engine/dialog/unacknowledged-answers.ts";
import { defaultTimers } from "../../src/engine/transaction/timers.ts";
import { ManualClock } from "../support/manual-clock.ts";

function waiting(cseq = 1) {
  const clock = new ManualClock();
  const start = clock.now();
  const answers = new UnacknowledgedAnswers(clock, defaultTimers);
  const heard: string[] = [];
  const user = {
    resend: () => heard.push(`resend ${clock.now() - start}`),
    noAck: () => heard.push(`no ack ${clock.now() - start}`),
  };
  answers.wait("d", cseq, user);
  return { clock, answers, heard, user };
}

describe("a 2xx that waits for its ACK (section 13.3.1.4)", () => {
  it("is sent again at pauses doubling from T1 to T2 and given up after 64*T1", () => {
    const { clock, answers, heard } = waiting();
    clock.advance(100_000);
    expect(heard).toEqual([
      ...[500, 1_500, 3_500, 7_500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500].map((at) => `resend ${at}`),
      "no ack 32000",
    ]);
    expect({ answers: answers.size, timers: clock.pending }).toEqual({ answers: 0, timers: 0 });
  });

  it("is done with at the first ACK of its number; later ones are repetitions", () => {
    const { clock, answers, heard } = waiting(3);
    clock.advance(600);
    expect(answers.acknowledge("d", 2)).toBe(false);
    expect(answers.acknowledge("other", 3)).toBe(false);
    expect(answers.has("d")).toBe(true);
    expect(answers.acknowledge("d", 3)).toBe(true);
    expect(answers.acknowledge("d", 3)).toBe(false);
    expect(answers.has("d")).toBe(false);
    clock.advance(100_000);
    expect(heard).toEqual(["resend 500"]);
    expect({ answers: answers.size, timers: clock.pending }).toEqual({ answers: 0, timers: 0 });
  });

  it("is forgotten with its dialog", () => {
    const { clock, answers, heard } = waiting();
    answers.forget("d");
    answers.forget("d");
    clock.advance(100_000);
    expect(heard).toEqual([]);
    expect({ answers: answers.size, timers: clock.pending }).toEqual({ answers: 0, timers: 0 });
  });

  it("is forgotten when all are", () => {
    const { clock, answers, heard } = waiting();
    answers.stop();
    clock.advance(100_000);
    expect(heard).toEqual([]);
    expect({ answers: answers.size, timers: clock.pending }).toEqual({ answers: 0, timers: 0 });
  });

  it("gives way to the answer to the next INVITE of its dialog", () => {
    const { clock, answers, heard, user } = waiting(1);
    answers.wait("d", 2, user);
    expect(answers.acknowledge("d", 1)).toBe(false);
    expect(answers.acknowledge("d", 2)).toBe(true);
    clock.advance(100_000);
    expect(heard).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it("may be followed by a new one out of its own end", () => {
    const { clock, answers, heard, user } = waiting(1);
    answers.wait("d", 1, { ...user, noAck: () => answers.wait("d", 2, user) });
    clock.advance(32_000);
    expect(answers.has("d")).toBe(true);
    expect(answers.acknowledge("d", 2)).toBe(true);
    expect(heard).not.toContain("no ack 32000");
    expect(clock.pending).toBe(0);
  });
});
