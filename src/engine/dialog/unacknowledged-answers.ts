import type { Clock, Ms, Timer } from "../../clock.ts";
import { patience, type TimerValues } from "../transaction/timers.ts";

/** What an answer does until its ACK comes. */
export interface AnswerUser {
  /** Sends the 2xx again. */
  resend(): void;
  /** No ACK within 64*T1: the session should be ended by BYE. Comes at most once, and no `resend` follows. */
  noAck(): void;
}

/**
 * The 2xx responses to INVITE that wait for their ACK (RFC 3261 section 13.3.1.4). Each is sent again after T1, then at
 * doubled pauses up to T2, on reliable transports too: a later hop may be UDP.
 */
export class UnacknowledgedAnswers {
  readonly #clock: Clock;
  readonly #timers: TimerValues;
  readonly #waiting = new Map<string, WaitingAnswer>();

  constructor(clock: Clock, timers: TimerValues) {
    this.#clock = clock;
    this.#timers = timers;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** An INVITE of this CSeq number has just been answered by 2xx. One answer waits per dialog; a new one takes its place. */
  wait(dialogId: string, cseq: number, user: AnswerUser): void {
    this.forget(dialogId);
    const over = () => this.#waiting.delete(dialogId);
    this.#waiting.set(dialogId, new WaitingAnswer(cseq, user, this.#clock, this.#timers, over));
  }

  /** Whether the dialog's latest INVITE is answered and not acknowledged yet. */
  has(dialogId: string): boolean {
    return this.#waiting.has(dialogId);
  }

  /** An ACK has come: true if it is the first one for the answer that waits. */
  acknowledge(dialogId: string, cseq: number): boolean {
    const answer = this.#waiting.get(dialogId);
    if (answer?.cseq !== cseq) return false;
    this.forget(dialogId);
    return true;
  }

  /** The dialog is over: nothing is sent again and nobody is called. */
  forget(dialogId: string): void {
    this.#waiting.get(dialogId)?.stop();
    this.#waiting.delete(dialogId);
  }

  /** Forgets all of them. */
  stop(): void {
    for (const dialogId of [...this.#waiting.keys()]) this.forget(dialogId);
  }
}

/** One timer at a time serves both the next repetition and the end. */
class WaitingAnswer {
  readonly cseq: number;
  readonly #user: AnswerUser;
  readonly #clock: Clock;
  readonly #longest: Ms;
  readonly #over: () => void;
  #timer: Timer;
  #pause: Ms;
  #left: Ms;

  constructor(cseq: number, user: AnswerUser, clock: Clock, timers: TimerValues, over: () => void) {
    this.cseq = cseq;
    this.#user = user;
    this.#clock = clock;
    this.#longest = timers.t2;
    this.#over = over;
    this.#pause = timers.t1;
    this.#left = patience(timers);
    this.#timer = clock.after(this.#pause, () => this.#elapsed());
  }

  stop(): void {
    this.#timer.cancel();
  }

  #elapsed(): void {
    this.#left -= this.#pause;
    if (this.#left <= 0) {
      this.#over();
      this.#user.noAck();
      return;
    }
    this.#pause = Math.min(this.#pause * 2, this.#longest, this.#left);
    this.#timer = this.#clock.after(this.#pause, () => this.#elapsed());
    this.#user.resend();
  }
}
