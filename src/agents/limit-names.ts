import type { Scope } from "./attempt-counts.ts";
import type { MethodLimitName } from "./limit.ts";
import { type RateConstraint, rateConstraintParams } from "./params.ts";

/** The session limits of SEMANTICS section 3 by kind, and what each counts, in the order in which they are named. */
export const concurrentLimits = {
  "max-sessions": "total",
  "max-inbound-sessions": "inbound",
  "max-outbound-sessions": "outbound",
} as const satisfies Record<string, Scope>;

export const burstLimits = {
  "max-burst-rate": "total",
  "max-inbound-burst-rate": "inbound",
  "max-outbound-burst-rate": "outbound",
} as const satisfies Record<string, Scope>;

export const sustainLimits = {
  "max-sustain-rate": "total",
  "max-inbound-sustain-rate": "inbound",
  "max-outbound-sustain-rate": "outbound",
} as const satisfies Record<string, Scope>;

export const methodBurstLimits = {
  "max-inbound-burst-rate": "inbound",
  "max-outbound-burst-rate": "outbound",
} as const satisfies Record<string, Scope>;

export const methodSustainLimits = {
  "max-inbound-sustain-rate": "inbound",
  "max-outbound-sustain-rate": "outbound",
} as const satisfies Record<string, Scope>;

/** The rows of one of the tables above. */
export function rowsOf<T extends Readonly<Record<string, Scope>>>(table: T): readonly [keyof T & string, Scope][] {
  return Object.entries(table);
}

type DirectionalRate = Exclude<keyof RateConstraint, "method">;
type NamesByRate = Readonly<Record<DirectionalRate, MethodLimitName>>;

/** The full name of a method's own rate. Made once for all agents, which share the text. */
export const methodLimitName = (method: RateConstraint["method"], rate: DirectionalRate): MethodLimitName =>
  methodLimitNames[method][rate];

const namesOf = (method: RateConstraint["method"]): NamesByRate => ({
  "max-inbound-burst-rate": `rate-constraints.${method}.max-inbound-burst-rate`,
  "max-outbound-burst-rate": `rate-constraints.${method}.max-outbound-burst-rate`,
  "max-inbound-sustain-rate": `rate-constraints.${method}.max-inbound-sustain-rate`,
  "max-outbound-sustain-rate": `rate-constraints.${method}.max-outbound-sustain-rate`,
});

const methodLimitNames = Object.fromEntries(
  rateConstraintParams.method.choices.map((method) => [method, namesOf(method)]),
) as Readonly<Record<RateConstraint["method"], NamesByRate>>;
