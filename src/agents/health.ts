import type { Ms } from "../clock.ts";
import { matchesCode } from "../params.ts";
import type { Evidence } from "./evidence.ts";
import type { AgentParams } from "./params.ts";

/** Set by evidence alone (SEMANTICS section 2). */
export type Health = "in-service" | "out-of-service" | "standby";

/** Evidence as the table below reads it: what was seen, told apart by the rule that applies to it. */
export type HealthEvent =
  /** Real traffic was answered, with a code that is on no list in force. */
  | "answer"
  /** A dialog-creating request was answered with a code of out-service-response-codes, in keep-alive mode. */
  | "bad-answer"
  | "timeout"
  | "transport-failure"
  | "name-failure"
  | "ping-answer"
  /** A ping was answered with a code of the list that applies to the mode. */
  | "ping-bad-answer"
  | "ping-timeout"
  | "ping-transport-failure"
  /** time-to-resume, or ttr-no-response, has passed. */
  | "resume-timer"
  /** in-service-period has passed. */
  | "settle-timer";

/** What brought the present health about. */
export interface HealthCause {
  readonly reason: "start" | "resolved" | "ping-answered" | "time-to-resume" | "in-service-period" | Failure;
  /** The response code, where one decided. */
  readonly status?: number;
  /** The operating system's or the resolver's word, where it had one. */
  readonly detail?: string;
}

type Failure =
  | "response"
  | "timeout"
  | "transport-failure"
  | "name-failure"
  | "ping-response"
  | "ping-timeout"
  | "ping-transport-failure";

/** Plain data; a rule never changes one, it gives the next. */
export interface HealthState {
  readonly health: Health;
  readonly since: Ms;
  readonly cause: HealthCause;
  /** Consecutive transaction timeouts of real traffic. */
  readonly timeouts: number;
  /** Consecutive ping timeouts while in service. */
  readonly failedPings: number;
  /** Consecutive good pings while out of service. */
  readonly goodPings: number;
}

interface Facts {
  readonly params: AgentParams;
  readonly now: Ms;
  readonly cause: HealthCause;
}

type Rule = (state: HealthState, facts: Facts) => HealthState;

export const startOfHealth = (now: Ms): HealthState => enter("in-service", now, { reason: "start" });

/** The state after an event; the same object when nothing changed. SEMANTICS sections 4.1 and 4.2. */
export function nextHealth(state: HealthState, event: HealthEvent, facts: Facts): HealthState {
  return rules[state.health][event](state, facts);
}

const stay: Rule = (state) => state;
const toOut: Rule = (_, { now, cause }) => enter("out-of-service", now, cause);
const toService: Rule = (_, { now, cause }) => enter("in-service", now, cause);
/** Standby first, unless there is no in-service-period to sit out. */
const toReturn: Rule = (_, { params, now, cause }) =>
  enter(params["in-service-period"] > 0 ? "standby" : "in-service", now, cause);

/** Any response from the agent ends a run of timeouts. */
const clearTimeouts: Rule = (state) => (state.timeouts === 0 ? state : { ...state, timeouts: 0 });
const clearFailures: Rule = (state) =>
  state.timeouts === 0 && state.failedPings === 0 ? state : { ...state, timeouts: 0, failedPings: 0 };
const clearGoodPings: Rule = (state) => (state.goodPings === 0 ? state : { ...state, goodPings: 0 });

/** trans-timeouts 0 = real traffic's silence never takes the agent out, however it was noticed. */
const unlessNever =
  (rule: Rule): Rule =>
  (state, facts) =>
    facts.params["trans-timeouts"] === 0 ? state : rule(state, facts);

const countTimeout: Rule = (state, facts) => {
  const timeouts = state.timeouts + 1;
  return timeouts >= facts.params["trans-timeouts"] ? toOut(state, facts) : { ...state, timeouts };
};
const countFailedPing: Rule = (state, facts) => {
  const failedPings = state.failedPings + 1;
  return failedPings >= facts.params["ping-failure-threshold"] ? toOut(state, facts) : { ...state, failedPings };
};
const countGoodPing: Rule = (state, facts) => {
  const goodPings = state.goodPings + 1;
  return goodPings >= facts.params["ping-success-threshold"] ? toReturn(state, facts) : { ...state, goodPings };
};

const rules: Record<Health, Record<HealthEvent, Rule>> = {
  "in-service": {
    answer: clearTimeouts,
    "bad-answer": toOut,
    timeout: unlessNever(countTimeout),
    // A failed transport is no guess, so it is not counted up to a threshold first.
    "transport-failure": unlessNever(toOut),
    "name-failure": toOut,
    "ping-answer": clearFailures,
    "ping-bad-answer": toOut,
    "ping-timeout": countFailedPing,
    "ping-transport-failure": toOut,
    "resume-timer": stay,
    "settle-timer": stay,
  },
  "out-of-service": {
    // Real traffic is no evidence of recovery: no new traffic is sent here, and what still answers was sent before.
    answer: stay,
    "bad-answer": stay,
    timeout: stay,
    "transport-failure": stay,
    "name-failure": clearGoodPings,
    "ping-answer": countGoodPing,
    "ping-bad-answer": clearGoodPings,
    "ping-timeout": clearGoodPings,
    "ping-transport-failure": clearGoodPings,
    "resume-timer": toReturn,
    "settle-timer": stay,
  },
  standby: {
    answer: stay,
    // In service "when it elapses with no new failure": one is enough, no threshold gives a second chance here.
    "bad-answer": toOut,
    timeout: unlessNever(toOut),
    "transport-failure": unlessNever(toOut),
    "name-failure": toOut,
    "ping-answer": stay,
    "ping-bad-answer": toOut,
    "ping-timeout": toOut,
    "ping-transport-failure": toOut,
    "resume-timer": stay,
    "settle-timer": toService,
  },
};

/** The beginning of a state. */
export function enter(health: Health, now: Ms, cause: HealthCause): HealthState {
  return { health, since: now, cause, timeouts: 0, failedPings: 0, goodPings: 0 };
}

/** The one timer that a state waits for: when it is due and what it then is evidence of. Undefined = it waits for none. */
export function timerOf(
  state: HealthState,
  params: AgentParams,
): { readonly at: Ms; readonly event: "resume-timer" | "settle-timer" } | undefined {
  if (state.health === "in-service") return undefined;
  if (state.health === "standby") {
    return { at: state.since + params["in-service-period"] * 1000, event: "settle-timer" };
  }
  const { reason } = state.cause;
  // A name that resolves to nothing is out until it resolves and an address answers, which only a ping can tell.
  if (reason === "name-failure" && isPinged(params)) return undefined;
  const silent = reason !== "response" && reason !== "ping-response";
  const waitS = (silent && params["ttr-no-response"]) || params["time-to-resume"];
  return waitS > 0 ? { at: state.since + waitS * 1000, event: "resume-timer" } : undefined;
}

/** True when the agent is configured to be pinged. */
export const isPinged = (params: AgentParams): boolean => params["ping-method"] !== "" && params["ping-interval"] > 0;

/** What a piece of evidence is to the table, and the cause to show if it changes the health. */
export function readEvidence(evidence: Evidence, params: AgentParams): { event: HealthEvent; cause: HealthCause } {
  const ping = evidence.purpose === "ping";
  switch (evidence.kind) {
    case "response": {
      const { status } = evidence;
      if (!ping) {
        return {
          event: isBadAnswer(evidence, params) ? "bad-answer" : "answer",
          cause: { reason: "response", status },
        };
      }
      return isBadPingAnswer(status, params)
        ? { event: "ping-bad-answer", cause: { reason: "ping-response", status } }
        : { event: "ping-answer", cause: { reason: "ping-answered", status } };
    }
    case "timeout": {
      const reason = ping ? "ping-timeout" : "timeout";
      return { event: reason, cause: { reason } };
    }
    case "transport-failure": {
      const reason = ping ? "ping-transport-failure" : "transport-failure";
      return { event: reason, cause: { reason, detail: evidence.detail } };
    }
    case "name-failure":
      return { event: "name-failure", cause: { reason: "name-failure", detail: evidence.detail } };
  }
}

function isBadAnswer({ status, createsDialog }: Extract<Evidence, { kind: "response" }>, params: AgentParams): boolean {
  // In continuous mode a response to a call proves nothing bad: a device further downstream may have made it.
  if (params["ping-send-mode"] === "continuous" || createsDialog !== true) return false;
  return matchesCode(params["out-service-response-codes"], status);
}

function isBadPingAnswer(status: number, params: AgentParams): boolean {
  // Named one by one as good, a code stays good although a range of bad ones may cover it.
  if (matchesCode(params["ping-in-service-response-codes"], status)) return false;
  const continuous = params["ping-send-mode"] === "continuous";
  return matchesCode(params[continuous ? "ping-out-service-response-codes" : "out-service-response-codes"], status);
}
