import type { Clock, Ms, Timer } from "../../clock.ts";
import { type CancelAction, type CancelEvent, type CancelState, cancelRules } from "./cancel-rules.ts";
import { ignored } from "./rules.ts";

/** What a cancellation has done. */
export interface CancellationUser {
  sendCancel(headers: string): void;
  /** No final response within 64*T1 of our CANCEL. */
  giveUp(): void;
}

/** Durations of a cancellation, in milliseconds. */
export interface CancellationTimes {
  /** The longest wait for anything after a provisional response, before we cancel by ourselves. */
  readonly silence: Ms;
  /** The wait for the final response to a cancelled INVITE. */
  readonly final: Ms;
}

/** Drives `cancelRules` for one INVITE of ours. */
export class Cancellation {
  readonly #clock: Clock;
  readonly #times: CancellationTimes;
  readonly #user: CancellationUser;
  #state: CancelState = cancelRules.begin.next;
  #timer: Timer | undefined = undefined;
  #headers = "";

  constructor(clock: Clock, times: CancellationTimes, user: CancellationUser) {
    this.#clock = clock;
    this.#times = times;
    this.#user = user;
  }

  cancel(headers: string): void {
    if (this.#state === "unanswered" || this.#state === "answering") this.#headers = headers;
    this.#dispatch("cancel");
  }

  /** The INVITE has had this response. */
  response(status: number): void {
    if (status >= 200) this.over();
    else this.#dispatch(status === 100 ? "trying" : "progress");
  }

  /** The INVITE needs no CANCEL any more. */
  over(): void {
    this.#dispatch("final");
  }

  #dispatch(event: CancelEvent): void {
    if (this.#state === "terminated") return;
    const row = cancelRules.table[this.#state][event];
    if (row === ignored) return;
    this.#state = row.next;
    for (const action of row.actions) this.#act(action);
  }

  #act(action: CancelAction): void {
    switch (action) {
      case "watch-silence":
        this.#watch(this.#times.silence, "silence");
        break;
      case "watch-final":
        this.#watch(this.#times.final, "no-final");
        break;
      case "stop-watching":
        this.#timer?.cancel();
        break;
      case "send-cancel":
        this.#user.sendCancel(this.#headers);
        break;
      case "give-up":
        this.#user.giveUp();
        break;
    }
  }

  #watch(delay: Ms, event: "silence" | "no-final"): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.after(delay, () => this.#dispatch(event));
  }
}
