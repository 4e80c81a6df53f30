import type { Ms } from "../../clock.ts";

/** The three values every timer of RFC 3261 and RFC 6026 is made of, in milliseconds (RFC 3261 section 17.1.1.1). */
export interface TimerValues {
  /** Estimate of the round trip. */
  readonly t1: Ms;
  /** The longest pause between retransmissions of a non-INVITE request or of a response to INVITE. */
  readonly t2: Ms;
  /** The longest time a message stays in the network. */
  readonly t4: Ms;
}

export const defaultTimers: TimerValues = { t1: 500, t2: 4_000, t4: 5_000 };

/** The timer that sends again: A, E and G by the name each machine gives it. Never runs on a reliable transport. */
export type RepeatTimer = "A" | "E" | "G";

/** The timer that ends a state. A state has at most one. */
export type LifeTimer = "B" | "D" | "F" | "H" | "I" | "J" | "K" | "L" | "M";

/** 64*T1: how long an answer, or an ACK, is waited for. */
export const patience = (timers: TimerValues): Ms => 64 * timers.t1;

/** How long a life timer runs (RFC 3261 table 4, RFC 6026 section 7); 0 = the state is left at once. */
export function lifeOf(timer: LifeTimer, timers: TimerValues, reliable: boolean): Ms {
  switch (timer) {
    case "I":
    case "K":
      return reliable ? 0 : timers.t4;
    // "At least 32 s" for D stands for 64*T1 at the default T1 (RFC 3261 section 17.1.1.2), so it follows T1.
    case "D":
    case "J":
      return reliable ? 0 : patience(timers);
    case "B":
    case "F":
    case "H":
    case "L":
    case "M":
      return patience(timers);
  }
}
