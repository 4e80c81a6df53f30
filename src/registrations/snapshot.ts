import type { Ms } from "../clock.ts";
import type { Source } from "../signalling/port.ts";
import type { Binding } from "./bindings.ts";

/** A registration as /v1/registrations shows it. */
export interface RegistrationSnapshot {
  /** `user@host`. */
  readonly aor: string;
  /** The phone's own. */
  readonly contact: string;
  /** The user part of our Contact at the registrar. */
  readonly user: string;
  readonly source: Source;
  readonly registrar: string;
  /** ISO 8601. */
  readonly expires: string;
}

/** `wallMinusMonotonic`: what turns the moment of its expiry into a date. */
export function snapshotOf(binding: Binding, wallMinusMonotonic: Ms): RegistrationSnapshot {
  const { aor, contact, user, source, registrar, expiresAt } = binding;
  return { aor, contact, user, source, registrar, expires: new Date(expiresAt + wallMinusMonotonic).toISOString() };
}
