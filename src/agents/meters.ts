import type { Ms } from "../clock.ts";
import { AnswerSeizure } from "./answer-seizure.ts";
import { AttemptWindow } from "./attempt-window.ts";
import type { Direction } from "./direction.ts";
import type { AgentParams, RateConstraint } from "./params.ts";
import { SessionCounts } from "./session-counts.ts";
import { type WindowName, windowLength } from "./window-length.ts";

/** A burst window and a sustain window that count the same attempts. */
export interface WindowPair {
  readonly burst: AttemptWindow;
  readonly sustain: AttemptWindow;
}

interface MethodWindows extends WindowPair {
  readonly method: string;
}

const noMethods: readonly MethodWindows[] = [];

/** Everything that is counted for one agent, whether or not a limit reads it. */
export class Meters {
  readonly sessions = new SessionCounts();
  readonly attempts: WindowPair;
  readonly registers: WindowPair;
  readonly answerSeizure: AnswerSeizure;
  /** Of the methods that have a rate constraint: a handful at most, so a list is smaller than a map and as fast. */
  #methods = noMethods;

  constructor(params: AgentParams, now: Ms) {
    this.attempts = windowPair(params, "burst-rate-window", now);
    this.registers = windowPair(params, "register-burst-window", now);
    this.answerSeizure = new AnswerSeizure(params);
    this.#keepMethods(params, now);
  }

  /** The windows of a method that has a rate constraint. */
  method(method: RateConstraint["method"]): WindowPair {
    const windows = this.#find(method);
    if (!windows) throw new RangeError(`no rate constraint was configured for ${method}`);
    return windows;
  }

  /** A session attempt that was admitted: takes the place, and counts in every window. */
  countSession(direction: Direction, now: Ms): void {
    this.sessions.enter(direction);
    this.attempts.burst.count(direction, now);
    this.attempts.sustain.count(direction, now);
    if (direction === "outbound") this.answerSeizure.attempt(now);
  }

  /** A new REGISTER that was admitted; not one that answers a challenge. */
  countRegister(direction: Direction, now: Ms): void {
    this.registers.burst.count(direction, now);
    this.registers.sustain.count(direction, now);
  }

  /** Any request of a method with a rate constraint, re-INVITEs and answers to challenges included. */
  countMethod(method: string, direction: Direction, now: Ms): void {
    const windows = this.#find(method);
    windows?.burst.count(direction, now);
    windows?.sustain.count(direction, now);
  }

  /** When the current sustain window ends; those of the methods end with it. */
  sustainEndsAt(now: Ms): Ms {
    return this.attempts.sustain.endsAt(now);
  }

  countAnswer(now: Ms): void {
    this.answerSeizure.answer(now);
  }

  configure(params: AgentParams, now: Ms): void {
    resize(this.attempts, params, "burst-rate-window", now);
    resize(this.registers, params, "register-burst-window", now);
    this.answerSeizure.configure(params);
    this.#keepMethods(params, now);
  }

  #find(method: string): WindowPair | undefined {
    for (const windows of this.#methods) if (windows.method === method) return windows;
    return undefined;
  }

  #keepMethods(params: AgentParams, now: Ms): void {
    const constraints = params["rate-constraints"];
    if (constraints.length === 0) {
      this.#methods = noMethods;
      return;
    }
    this.#methods = constraints.map(({ method }) => {
      const { burst, sustain } = this.#find(method) ?? windowPair(params, "burst-rate-window", now);
      resize({ burst, sustain }, params, "burst-rate-window", now);
      return { method, burst, sustain };
    });
  }
}

function windowPair(params: AgentParams, burst: WindowName, now: Ms): WindowPair {
  return {
    burst: new AttemptWindow(windowLength(params, burst), now),
    sustain: new AttemptWindow(windowLength(params, "sustain-rate-window"), now),
  };
}

function resize(windows: WindowPair, params: AgentParams, burst: WindowName, now: Ms): void {
  windows.burst.resize(windowLength(params, burst), now);
  windows.sustain.resize(windowLength(params, "sustain-rate-window"), now);
}
