import type { Pinger, PingOutcome, PingRequest } from "../../src/agents/pinger.ts";
import type { Clock } from "../../src/clock.ts";

interface SentPing {
  readonly at: number;
  readonly request: PingRequest;
  readonly done: (outcome: PingOutcome) => void;
}

/** Remembers every ping. Answers each by `answer`, or leaves it open where that gives nothing. */
export class FakePinger implements Pinger {
  readonly sent: SentPing[] = [];
  answer: PingOutcome | undefined = { kind: "response", status: 200 };
  readonly #clock: Clock;
  readonly #delayMs: number;

  constructor(clock: Clock, delayMs = 5) {
    this.#clock = clock;
    this.#delayMs = delayMs;
  }

  ping(request: PingRequest, done: (outcome: PingOutcome) => void): void {
    this.sent.push({ at: this.#clock.now(), request, done });
    const { answer } = this;
    if (answer) this.#clock.after(this.#delayMs, () => done(answer));
  }

  /** Moments of the pings sent since the one given. */
  times(from = 0): number[] {
    return this.sent.map(({ at }) => at).filter((at) => at >= from);
  }

  /** Ends the ping sent as number `index`. */
  end(index: number, outcome: PingOutcome): void {
    this.sent[index]?.done(outcome);
  }
}
