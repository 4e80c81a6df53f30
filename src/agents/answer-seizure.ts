import type { Ms } from "../clock.ts";
import { type Hold, isOn } from "./hold.ts";
import type { Limit } from "./limit.ts";
import type { AgentParams } from "./params.ts";
import { windowLength } from "./window-length.ts";

/**
 * The answer-seizure ratio of the current sustain window, and the hold that a poor one brings (SEMANTICS section 3).
 *
 * An attempt counts when it is admitted, an answer when it comes: matched by window instead, every busy agent whose
 * phones ring for a while would look answerless at the start of each window. The ratio never shows above 100 %.
 */
export class AnswerSeizure implements Limit {
  readonly name = "min-asr";
  readonly scope = "outbound";
  /** Percent, 0 = off. */
  #minimum = 0;
  #seizures = 0;
  #resumeMs: Ms = 0;
  #windowMs: Ms = 1;
  #window = 0;
  #attempts = 0;
  #answered = 0;
  /** Since the ratio fell too low; undefined once the agent is judged afresh. */
  #hold: Hold | undefined;

  constructor(params: AgentParams) {
    this.configure(params);
  }

  get maximum(): number {
    return this.#minimum;
  }

  attempt(now: Ms): void {
    this.#moveTo(now);
    this.#attempts++;
    if (this.#hold === undefined && this.#tooLow(now)) this.#hold = { from: now, until: now + this.#resumeMs };
  }

  answer(now: Ms): void {
    this.#moveTo(now);
    this.#answered++;
  }

  /** What the window at hand counted. While the ratio holds the agent, what brought the hold about. */
  tally(now: Ms): { readonly attempts: number; readonly answered: number } {
    this.#moveTo(now);
    return { attempts: this.#attempts, answered: this.#answered };
  }

  /** Percent. 100 before the first attempt. */
  value(now: Ms): number {
    this.#moveTo(now);
    return this.#attempts === 0 ? 100 : Math.min(100, (this.#answered * 100) / this.#attempts);
  }

  full(now: Ms): boolean {
    return isOn(this.#hold, now);
  }

  spare(now: Ms): number {
    if (this.full(now)) return 0;
    this.#moveTo(now);
    // The first answer brings the threshold down by one, and the least ratio into play.
    const byRatio = this.#answered === 0 ? 0 : Math.floor((this.#answered * 100) / this.#minimum);
    return Math.max(this.#seizures, byRatio) - this.#attempts;
  }

  /** The end of time-to-resume after the ratio fell too low. */
  turnsAt(now: Ms): Ms {
    return isOn(this.#hold, now) ? this.#hold.until : Number.POSITIVE_INFINITY;
  }

  configure(params: AgentParams): void {
    // Taken out of the parameters, as every attempt and every answer looks at them.
    this.#minimum = params["min-asr"];
    this.#seizures = params["min-seizures"];
    this.#resumeMs = params["time-to-resume"] * 1000;
    this.#windowMs = windowLength(params, "sustain-rate-window");
    if (this.#minimum === 0) this.#hold = undefined;
    else if (this.#hold) this.#hold = { ...this.#hold, until: this.#hold.from + this.#resumeMs };
  }

  #tooLow(now: Ms): boolean {
    if (this.#minimum === 0) return false;
    if (this.#answered === 0) return this.#attempts > this.#seizures;
    return this.#attempts >= this.#seizures && this.value(now) < this.#minimum;
  }

  #moveTo(now: Ms): void {
    const window = Math.floor(now / this.#windowMs);
    if (this.#hold !== undefined) {
      if (isOn(this.#hold, now)) return;
      // After the hold the agent is judged afresh: the same few answers must not hold it again at its next attempt.
      this.#hold = undefined;
    } else if (window === this.#window) {
      return;
    }
    this.#window = window;
    this.#attempts = 0;
    this.#answered = 0;
  }
}
