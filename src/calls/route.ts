import type { RouteTrace, Selection } from "../routing/route-plan.ts";
import type { Route } from "./failover-policy.ts";

/** The way of a request through its candidates. */
export interface CallRoute extends Route {
  readonly trace: RouteTrace;
  /** The next candidate; the caller owns its lease from here on. */
  next(): Selection;
}
