import type { Ms } from "../clock.ts";
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
  #params: AgentParams;
  #window = 0;
  #attempts = 0;
  #answered = 0;
  /** When the ratio fell too low; undefined while it holds nobody off. */
  #trippedAt: Ms | undefined;

  constructor(params: AgentParams) {
    this.#params = params;
  }

  get maximum(): number {
    return this.#params["min-asr"];
  }

  attempt(now: Ms): void {
    this.#moveTo(now);
    this.#attempts++;
    if (this.#trippedAt === undefined && this.#tooLow(now)) this.#trippedAt = now;
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
    return now < this.#heldUntil();
  }

  spare(now: Ms): number {
    if (this.full(now)) return 0;
    this.#moveTo(now);
    const { "min-asr": minimum, "min-seizures": seizures } = this.#params;
    // The first answer brings the threshold down by one, and the least ratio into play.
    const most = this.#answered === 0 ? seizures : Math.max(seizures, Math.floor((this.#answered * 100) / minimum));
    return most - this.#attempts;
  }

  /** The end of time-to-resume after the ratio fell too low. */
  turnsAt(now: Ms): Ms {
    return this.full(now) ? this.#heldUntil() : Number.POSITIVE_INFINITY;
  }

  configure(params: AgentParams): void {
    this.#params = params;
    if (this.maximum === 0) this.#trippedAt = undefined;
  }

  #heldUntil(): Ms {
    if (this.#trippedAt === undefined) return Number.NEGATIVE_INFINITY;
    return this.#trippedAt + this.#params["time-to-resume"] * 1000;
  }

  #tooLow(now: Ms): boolean {
    const { "min-asr": minimum, "min-seizures": seizures } = this.#params;
    if (minimum === 0) return false;
    if (this.#answered === 0) return this.#attempts > seizures;
    return this.#attempts >= seizures && this.value(now) < minimum;
  }

  #moveTo(now: Ms): void {
    const window = Math.floor(now / windowLength(this.#params, "sustain-rate-window"));
    if (this.#trippedAt !== undefined) {
      if (this.full(now)) return;
      // After the hold the agent is judged afresh: the same few answers must not hold it again at its next attempt.
      this.#trippedAt = undefined;
    } else if (window === this.#window) {
      return;
    }
    this.#window = window;
    this.#attempts = 0;
    this.#answered = 0;
  }
}
