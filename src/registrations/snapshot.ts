import type { Ms } from "../clock.ts";
import { hopsOf } from "../signalling/path.ts";
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
  /** Proxies that requests to the phone pass, nearest first; absent where there are none. */
  readonly path?: readonly string[];
  readonly registrar: string;
  /** ISO 8601. */
  readonly expires: string;
}

/** `wallMinusMonotonic`: what turns the moment of its expiry into a date. */
export function snapshotOf(binding: Binding, wallMinusMonotonic: Ms): RegistrationSnapshot {
  const { aor, contact, user, source, path, registrar, expiresAt } = binding;
  const expires = new Date(expiresAt + wallMinusMonotonic).toISOString();
  return { aor, contact, user, source, ...(path !== "" && { path: hopsOf(path) }), registrar, expires };
}
