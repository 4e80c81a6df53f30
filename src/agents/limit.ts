import type { Ms } from "../clock.ts";
import type { Scope } from "./attempt-counts.ts";
import type { RateConstraint } from "./params.ts";

/** A method's own rate, as `rate-constraints.MESSAGE.max-inbound-burst-rate`. */
export type MethodLimitName = `rate-constraints.${RateConstraint["method"]}.${Exclude<keyof RateConstraint, "method">}`;

/** Every limit by the parameter that sets it, and the hold of a Retry-After. A closed set: fit for a metric's label. */
export type LimitName =
  | "max-sessions"
  | "max-inbound-sessions"
  | "max-outbound-sessions"
  | "max-burst-rate"
  | "max-inbound-burst-rate"
  | "max-outbound-burst-rate"
  | "max-sustain-rate"
  | "max-inbound-sustain-rate"
  | "max-outbound-sustain-rate"
  | "min-asr"
  | "max-register-burst-rate"
  | "max-register-sustain-rate"
  | "retry-after"
  | MethodLimitName;

/**
 * A limit that leaves no room, in the unit of its parameter: sessions, sessions/s, % (`maximum` is the least ratio then),
 * or s of a Retry-After that are left.
 */
export interface Exceeded {
  readonly limit: LimitName;
  readonly value: number;
  readonly maximum: number;
}

/** One limit over counters that others move. Knows whether there is room for one more, and until when by time alone. */
export interface Limit {
  readonly name: LimitName;
  readonly scope: Scope;
  readonly maximum: number;
  /** What is measured now, in the unit of `maximum`. */
  value(now: Ms): number;
  /** True when one more would exceed it. */
  full(now: Ms): boolean;
  /**
   * Attempts that surely change nothing about `full` and `turnsAt`, all made before the sustain window ends; an estimate
   * on the low side. It saves the busy path from looking at every limit for every attempt.
   */
  spare(now: Ms): number;
  /** The next moment at which time alone may change `full`; Infinity when only an attempt or a release can. */
  turnsAt(now: Ms): Ms;
}
