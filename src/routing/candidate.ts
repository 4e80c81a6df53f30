import type { Admission, SessionAgent } from "../agents/session-agent.ts";
import type { RouteRequest } from "./policy-table.ts";

/** An agent that was considered for a request and passed over, and why. */
export interface PassedOver {
  readonly agent: SessionAgent;
  readonly verdict: Extract<Admission, { admitted: false }>;
}

/** The part of a route's search that members of a group are chosen by. */
export interface Search {
  readonly request: RouteRequest;
  /** True when the agent may be chosen now: not tried yet and, by its own word, in service with room. Asking takes nothing. */
  eligible(agent: SessionAgent): boolean;
}
