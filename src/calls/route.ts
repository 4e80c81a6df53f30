import type { FailoverParams } from "../routing/params.ts";
import type { RouteRequest } from "../routing/policy-table.ts";
import type { RouteTrace, Selection } from "../routing/route-plan.ts";
import type { Phone } from "../signalling/next-hop.ts";
import type { Route } from "./failover-policy.ts";

/** Where one attempt goes, or that there is nowhere left to go. */
export type CallSelection =
  | Selection
  | { readonly kind: "phone"; readonly phone: Phone }
  | { readonly kind: "exhausted"; readonly cause: "phone-unreachable" };

/** The way of a request through its candidates: a plan by local policy, or to a phone. */
export interface CallRoute extends Route {
  readonly trace: RouteTrace;
  /** The next candidate; whoever asks owns its lease from here on. */
  next(): CallSelection;
}

/** The way to a phone, which is one, or to a Contact of ours that no phone is behind any more. */
export class PhoneRoute implements CallRoute {
  readonly trace: RouteTrace;
  readonly failover: FailoverParams;
  readonly redirectAction = "proxy";
  readonly following = false;
  #phone: Phone | undefined;

  constructor(phone: Phone | undefined, request: RouteRequest, failover: FailoverParams) {
    this.trace = { request, hops: [], passedOver: [] };
    this.failover = failover;
    this.#phone = phone;
  }

  next(): CallSelection {
    const phone = this.#phone;
    this.#phone = undefined;
    return phone ? { kind: "phone", phone } : { kind: "exhausted", cause: "phone-unreachable" };
  }

  /** Its silence is told in other words than an agent's: the registrar that asks for it is not to take us for dead. */
  failed(status?: number): boolean {
    return status === undefined;
  }

  redirected(): "none" {
    return "none";
  }
}
