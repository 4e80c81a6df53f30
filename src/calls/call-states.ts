/**
 * A call's life (docs/lifecycle.md). `hung-up` is the agent's BYE before the caller's ACK: the caller's BYE has to wait
 * for that ACK (RFC 3261 section 15). `cancelled` lasts until the agent has ended the attempt too.
 */
export type CallState = "routing" | "trying" | "ringing" | "answered" | "hung-up" | "confirmed" | "cancelled" | "ended";

export type CallEvent =
  /** An INVITE went to an agent. */
  | "sent"
  /** The agent in force sent a provisional beyond 100. */
  | "progress"
  | "answer"
  /** The attempt failed and another candidate may be tried. */
  | "failover"
  /** Nothing is left to try, or the failure is the caller's to know. */
  | "reject"
  /** The caller's CANCEL: the engine has answered it, and the INVITE with 487. */
  | "cancel"
  /** The agent has ended the cancelled attempt. */
  | "settled"
  /** The caller's ACK to our 2xx. */
  | "ack"
  /** BYE from the caller, or from the engine in its name. */
  | "caller-bye"
  | "agent-bye"
  /** We end it: the deadline of a drain, or a leg that no longer knows its dialog. */
  | "abort"
  /** The engine is gone: there is no one left to send to. */
  | "lost";

export type CallAction =
  | "try-next"
  | "relay-progress"
  | "answer-caller"
  | "refuse-caller"
  | "terminate-invite"
  | "cancel-attempt"
  | "ack-agent"
  | "bye-agent"
  | "bye-caller"
  | "release-caller"
  | "release-agent";

export interface Transition {
  readonly next: CallState;
  /** In order. Entering `ended` gives back every lease after them. */
  readonly actions: readonly CallAction[];
}

const to = (next: CallState, ...actions: CallAction[]): Transition => ({ next, actions });

/** Every pair is decided here; a pair that cannot happen, or must change nothing, stays. */
export const transitions: Readonly<Record<CallState, Readonly<Record<CallEvent, Transition>>>> = {
  routing: {
    sent: to("trying"),
    progress: to("routing"),
    answer: to("routing"),
    failover: to("routing"),
    reject: to("ended", "refuse-caller"),
    cancel: to("ended"),
    settled: to("routing"),
    ack: to("routing"),
    "caller-bye": to("ended", "terminate-invite"),
    "agent-bye": to("routing"),
    abort: to("ended", "refuse-caller"),
    lost: to("ended"),
  },
  trying: {
    sent: to("trying"),
    progress: to("ringing", "relay-progress"),
    answer: to("answered", "answer-caller"),
    failover: to("routing", "try-next"),
    reject: to("ended", "refuse-caller"),
    cancel: to("cancelled", "cancel-attempt", "release-caller"),
    settled: to("trying"),
    ack: to("trying"),
    "caller-bye": to("cancelled", "terminate-invite", "cancel-attempt", "release-caller"),
    // A callee may not send BYE in an early dialog (RFC 3261 section 15).
    "agent-bye": to("trying"),
    abort: to("cancelled", "refuse-caller", "cancel-attempt", "release-caller"),
    lost: to("ended"),
  },
  ringing: {
    sent: to("ringing"),
    progress: to("ringing", "relay-progress"),
    answer: to("answered", "answer-caller"),
    failover: to("routing", "try-next"),
    reject: to("ended", "refuse-caller"),
    cancel: to("cancelled", "cancel-attempt", "release-caller"),
    settled: to("ringing"),
    ack: to("ringing"),
    "caller-bye": to("cancelled", "terminate-invite", "cancel-attempt", "release-caller"),
    "agent-bye": to("ringing"),
    abort: to("cancelled", "refuse-caller", "cancel-attempt", "release-caller"),
    lost: to("ended"),
  },
  answered: {
    sent: to("answered"),
    progress: to("answered"),
    answer: to("answered"),
    failover: to("answered"),
    reject: to("answered"),
    cancel: to("ended", "bye-agent"),
    settled: to("answered"),
    ack: to("confirmed", "ack-agent"),
    // Also when the ACK never came and the engine has sent the caller its BYE.
    "caller-bye": to("ended", "bye-agent"),
    "agent-bye": to("hung-up", "release-agent"),
    abort: to("ended", "bye-agent", "bye-caller"),
    lost: to("ended"),
  },
  "hung-up": {
    sent: to("hung-up"),
    progress: to("hung-up"),
    answer: to("hung-up"),
    failover: to("hung-up"),
    reject: to("hung-up"),
    cancel: to("ended"),
    settled: to("hung-up"),
    ack: to("ended", "bye-caller"),
    "caller-bye": to("ended"),
    "agent-bye": to("hung-up"),
    abort: to("ended", "bye-caller"),
    lost: to("ended"),
  },
  confirmed: {
    sent: to("confirmed"),
    progress: to("confirmed"),
    answer: to("confirmed"),
    failover: to("confirmed"),
    reject: to("confirmed"),
    cancel: to("confirmed"),
    settled: to("confirmed"),
    ack: to("confirmed"),
    "caller-bye": to("ended", "bye-agent"),
    "agent-bye": to("ended", "bye-caller"),
    abort: to("ended", "bye-agent", "bye-caller"),
    lost: to("ended"),
  },
  cancelled: {
    sent: to("cancelled"),
    progress: to("cancelled"),
    // A 2xx that crossed the CANCEL: the attempt acknowledges it and hangs up by itself.
    answer: to("cancelled"),
    failover: to("cancelled"),
    reject: to("cancelled"),
    cancel: to("cancelled"),
    settled: to("ended"),
    ack: to("cancelled"),
    "caller-bye": to("cancelled"),
    "agent-bye": to("cancelled"),
    abort: to("ended"),
    lost: to("ended"),
  },
  ended: {
    sent: to("ended"),
    progress: to("ended"),
    answer: to("ended"),
    failover: to("ended"),
    reject: to("ended"),
    cancel: to("ended"),
    settled: to("ended"),
    ack: to("ended"),
    "caller-bye": to("ended"),
    "agent-bye": to("ended"),
    abort: to("ended"),
    lost: to("ended"),
  },
};
