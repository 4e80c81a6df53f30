import { type CodeRange, matchesCode } from "../params.ts";
import type { FailoverParams } from "../routing/params.ts";
import type { IncomingResponse, RefusalCause } from "../signalling/port.ts";

/** How an attempt failed. */
export type AttemptFailure =
  | { readonly kind: "response"; readonly response: IncomingResponse }
  /** No response at all within `first-response-timeout`. */
  | { readonly kind: "no-response" }
  /** No final response within `ring-timeout`. */
  | { readonly kind: "ring-timeout" }
  /** The transaction's own end: timer B, or timer C and silence after its CANCEL. */
  | { readonly kind: "timeout" }
  | { readonly kind: "transport-failure"; readonly detail: string }
  /** Our own engine would not send it. */
  | { readonly kind: "refused"; readonly cause: RefusalCause };

/** What the decision needs of the call's route. */
export interface Route {
  readonly failover: FailoverParams;
  /** Tells the route how its attempt failed; true when its parameters let another candidate be tried. */
  failed(status?: number): boolean;
}

/** Busy, gone or declined, wherever it is asked: another agent would ring the same person (SEMANTICS.md section 8). */
const isTheCalleesWord = (status: number): boolean => status >= 600 || status === 486 || status === 487;

/** A code that the operator names alone means it; a range that merely spans it does not. */
const named = (ranges: readonly CodeRange[], status: number): boolean =>
  ranges.some((range) => range.from === status && range.to === status);

/**
 * Whether the next candidate is tried after a failed attempt (SEMANTICS.md section 8). Never asked once the caller has
 * cancelled. `earlyMedia`: the caller has been sent a provisional response with a body.
 */
export function mayFailOver(failure: AttemptFailure, route: Route, earlyMedia: boolean): boolean {
  // A loop, or a request that cannot be sent: no agent can mend it, and none is to blame.
  if (failure.kind === "refused") return false;
  const params = route.failover;
  const status = failure.kind === "response" ? failure.response.status : undefined;
  const allowed = route.failed(status);
  if (earlyMedia && params["recurse-after-early-media"] === "disabled") return false;
  if (status === undefined) return allowed;
  if (isTheCalleesWord(status) && !named(params["recurse-codes"], status)) return false;
  return allowed && matchesCode(params["recurse-codes"], status);
}
