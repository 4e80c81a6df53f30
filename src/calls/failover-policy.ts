import { type CodeRange, matchesCode } from "../params.ts";
import type { FailoverParams } from "../routing/params.ts";
import type { Redirect } from "../routing/route-plan.ts";
import type { IncomingResponse, RefusalCause } from "../signalling/port.ts";
import { contactsOf } from "./redirects.ts";

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

/**
 * Whether another address of the same agent is worth a try: this one cannot be reached, or says that it is out of service
 * and not when it will be back (RFC 3263 section 4.3). With a Retry-After it speaks for the agent (SEMANTICS.md section 8).
 */
export function isOfThisAddress(failure: AttemptFailure): boolean {
  if (failure.kind === "response") {
    return failure.response.status === 503 && failure.response.headers["retry-after"] === undefined;
  }
  return failure.kind === "no-response" || failure.kind === "timeout" || failure.kind === "transport-failure";
}

/** What the decision needs of the call's route. */
export interface Route {
  readonly failover: FailoverParams;
  /** What a 3xx of the attempt does. */
  readonly redirectAction: FailoverParams["redirect-action"];
  /** The attempt followed the Contact of a 3xx. */
  readonly following: boolean;
  /** Tells the route how its attempt failed; true when its parameters let another candidate be tried. */
  failed(status?: number): boolean;
  /** Tells the route where a 3xx says to ask instead, best first. */
  redirected(contacts: readonly Redirect[]): Redirection;
}

/** `loop`: every Contact leads back to where the call has been. `none`: it is for the caller to follow, or to no one. */
export type Redirection = "followed" | "loop" | "none";

/** What becomes of a 3xx where `redirect-action` says to follow it. Never asked once the caller has cancelled. */
export function redirectionOf(failure: AttemptFailure, route: Route, earlyMedia: boolean): Redirection {
  if (failure.kind !== "response" || route.redirectAction !== "recurse") return "none";
  const { status, headers } = failure.response;
  if (status < 300 || status > 399) return "none";
  if (earlyMedia && route.failover["recurse-after-early-media"] === "disabled") return "none";
  return route.redirected(contactsOf(headers.contact));
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
  // A loop, or a request that cannot be sent: no agent can mend it, and none is to blame, save the one that said to go there.
  const hopeless = failure.kind === "refused" && failure.cause !== "credentials";
  if (hopeless && !route.following) return false;
  const params = route.failover;
  const status = failure.kind === "response" ? failure.response.status : undefined;
  const allowed = route.failed(status);
  if (earlyMedia && params["recurse-after-early-media"] === "disabled") return false;
  if (status === undefined) return allowed;
  if (isTheCalleesWord(status) && !named(params["recurse-codes"], status)) return false;
  return allowed && matchesCode(params["recurse-codes"], status);
}
