import type { Ms } from "../clock.ts";
import type { HealthCause } from "./health.ts";
import type { LimitName } from "./limit.ts";
import type { RegistrationCause } from "./registration.ts";

/** The state shown, SEMANTICS section 2. */
export type StateLetter = "I" | "O" | "C" | "S" | "D";

export const stateWords = {
  I: "in-service",
  O: "out-of-service",
  C: "constraint-violation",
  S: "standby",
  D: "disabled",
} as const satisfies Record<StateLetter, string>;

/** What people have set. Draining and disabled both show D; a draining agent is still pinged. */
export type AdminState = "enabled" | "draining" | "disabled";

/** Why an agent shows what it shows. A closed set: fit for a metric's label. */
export type StateReason = LimitName | HealthCause["reason"] | RegistrationCause["reason"] | AdminState;

/** One change of the letter that an agent shows. */
export interface StateChange {
  readonly hostname: string;
  readonly from: StateLetter;
  readonly to: StateLetter;
  readonly reason: StateReason;
  /** Milliseconds since 1970. */
  readonly at: Ms;
  /** The limit that was exceeded, or that has room again, with what it measures now. */
  readonly limit?: LimitName;
  readonly value?: number;
  readonly maximum?: number;
  /** The response code that decided. */
  readonly status?: number;
  readonly detail?: string;
}
