import type { Ms } from "../clock.ts";
import { AnswerSeizure } from "./answer-seizure.ts";
import { AttemptCounts, type WindowLengths } from "./attempt-counts.ts";
import type { Direction } from "./direction.ts";
import type { AgentParams, RateConstraint } from "./params.ts";
import { SessionCounts } from "./session-counts.ts";
import { type WindowName, windowLength } from "./window-length.ts";

/**
 * Of one method that has a rate constraint, and the way to those of the next: a list of them would be two more trips to
 * memory for each session.
 */
class MethodAttempts extends AttemptCounts {
  readonly method: string;
  next: MethodAttempts | undefined = undefined;

  constructor(method: string, lengths: WindowLengths, now: Ms) {
    super(lengths, now);
    this.method = method;
  }
}

/** Everything that is counted for one agent, whether or not a limit reads it. */
export class Meters {
  readonly sessions = new SessionCounts();
  readonly attempts: AttemptCounts;
  readonly registers: AttemptCounts;
  readonly answerSeizure: AnswerSeizure;
  /** Of the methods that have a rate constraint: a handful at most. */
  #methods: MethodAttempts | undefined;

  constructor(params: AgentParams, now: Ms) {
    this.attempts = new AttemptCounts(lengthsOf(params, "burst-rate-window"), now);
    this.registers = new AttemptCounts(lengthsOf(params, "register-burst-window"), now);
    this.answerSeizure = new AnswerSeizure(params);
    this.#keepMethods(params, now);
  }

  /** Of a method that has a rate constraint. */
  method(method: RateConstraint["method"]): AttemptCounts {
    const attempts = this.#find(method);
    if (!attempts) throw new RangeError(`no rate constraint was configured for ${method}`);
    return attempts;
  }

  /** A session attempt that was admitted: takes the place, and counts in every window. */
  countSession(direction: Direction, now: Ms): void {
    this.sessions.enter(direction);
    this.attempts.count(direction, now);
    if (direction === "outbound") this.answerSeizure.attempt(now);
  }

  /** A new REGISTER that was admitted; not one that answers a challenge. */
  countRegister(direction: Direction, now: Ms): void {
    this.registers.count(direction, now);
  }

  /** Any request of a method with a rate constraint, re-INVITEs and answers to challenges included. */
  countMethod(method: string, direction: Direction, now: Ms): void {
    this.#find(method)?.count(direction, now);
  }

  /** When the current sustain window ends; those of the methods end with it. */
  sustainEndsAt(now: Ms): Ms {
    return this.attempts.sustainEndsAt(now);
  }

  countAnswer(now: Ms): void {
    this.answerSeizure.answer(now);
  }

  configure(params: AgentParams, now: Ms): void {
    this.attempts.resize(lengthsOf(params, "burst-rate-window"), now);
    this.registers.resize(lengthsOf(params, "register-burst-window"), now);
    this.answerSeizure.configure(params);
    this.#keepMethods(params, now);
  }

  #find(method: string): MethodAttempts | undefined {
    let each = this.#methods;
    while (each !== undefined && each.method !== method) each = each.next;
    return each;
  }

  #keepMethods(params: AgentParams, now: Ms): void {
    const lengths = lengthsOf(params, "burst-rate-window");
    const kept = params["rate-constraints"].map(
      ({ method }) => this.#find(method) ?? new MethodAttempts(method, lengths, now),
    );
    for (const [at, each] of kept.entries()) {
      each.resize(lengths, now);
      each.next = kept[at + 1];
    }
    this.#methods = kept[0];
  }
}

const lengthsOf = (params: AgentParams, burst: WindowName): WindowLengths => ({
  burstMs: windowLength(params, burst),
  sustainMs: windowLength(params, "sustain-rate-window"),
});
