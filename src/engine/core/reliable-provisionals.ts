import { randomInt } from "node:crypto";
import type { Clock, Ms, Timer } from "../../clock.ts";
import { patience, type TimerValues } from "../transaction/timers.ts";

export interface ReliableProvisionalsUser {
  send(text: string, status: number): void;
  /** No PRACK for 64*T1: the INVITE is to be rejected (RFC 3262 section 3). */
  unacknowledged(): void;
}

interface Provisional {
  readonly rseq: number;
  readonly status: number;
  readonly text: string;
}

/**
 * The reliable provisional responses to one INVITE (RFC 3262 section 3): each is repeated until its PRACK comes, on every
 * transport, and the next one waits for that.
 */
export class ReliableProvisionals {
  readonly #clock: Clock;
  readonly #timers: TimerValues;
  readonly #user: ReliableProvisionalsUser;
  readonly #waiting: Provisional[] = [];
  #nextRseq = randomInt(1, 2 ** 16);
  #repeat: Timer | undefined = undefined;
  #deadline: Timer | undefined = undefined;

  constructor(clock: Clock, timers: TimerValues, user: ReliableProvisionalsUser) {
    this.#clock = clock;
    this.#timers = timers;
    this.#user = user;
  }

  /** The RSeq of the next response. */
  get nextRseq(): number {
    return this.#nextRseq;
  }

  /** Sends a response that carries `nextRseq`, now or when those before it are acknowledged. */
  send(text: string, status: number): void {
    this.#waiting.push({ rseq: this.#nextRseq++, status, text });
    if (this.#waiting.length === 1) this.#sendFirst();
  }

  /** Takes the RAck of a PRACK; false when it acknowledges nothing that was sent. */
  acknowledge(rack: string, cseq: number): boolean {
    const first = this.#waiting[0];
    const [rseq, number, method] = rack.split(/\s+/);
    const matches = Number(rseq) === first?.rseq && Number(number) === cseq && method === "INVITE";
    if (!matches) return false;
    this.#stop();
    this.#waiting.shift();
    if (this.#waiting.length > 0) this.#sendFirst();
    return true;
  }

  end(): void {
    this.#stop();
    this.#waiting.length = 0;
  }

  #sendFirst(): void {
    this.#deadline = this.#clock.after(patience(this.#timers), () => {
      this.end();
      this.#user.unacknowledged();
    });
    this.#sendAgainAfter(this.#timers.t1);
  }

  #sendAgainAfter(pause: Ms): void {
    const first = this.#waiting[0];
    if (!first) return;
    this.#user.send(first.text, first.status);
    this.#repeat = this.#clock.after(pause, () => this.#sendAgainAfter(pause * 2));
  }

  #stop(): void {
    this.#repeat?.cancel();
    this.#deadline?.cancel();
  }
}
