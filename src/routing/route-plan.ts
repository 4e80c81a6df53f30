import type { Lease, SessionAgent } from "../agents/session-agent.ts";
import { matchesCode } from "../params.ts";
import type { PassedOver, Search } from "./candidate.ts";
import { Group } from "./group.ts";
import type { FailoverParams } from "./params.ts";
import type { Hop, RouteRequest } from "./policy-table.ts";

/** Where one attempt goes; or that there is nowhere left to go, and why (names of SEMANTICS.md section 7). */
export type Selection =
  | { readonly kind: "agent"; readonly agent: SessionAgent; readonly lease: Lease; readonly group?: string }
  /** A next hop that is no agent: `host`, `host:port` or a SIP URI, as configured. It has no limits and no health. */
  | { readonly kind: "address"; readonly address: string }
  | { readonly kind: "exhausted"; readonly cause: ExhaustedCause };

export type ExhaustedCause = "no-route" | "next-hop-sa-oos" | "next-hop-sa-exc-constraints";

export type Target = SessionAgent | Group | { readonly address: string };

/**
 * One request's way through its candidates: `next` takes a place at the next agent that has room, `failed` says how
 * that attempt ended. Every selection is made at the moment it is asked for, never ahead.
 */
export class RoutePlan implements Search {
  /** The next hops in order of preference, for the call's trace. */
  readonly hops: readonly Hop[];
  /** Agents that were considered and passed over, in order, for the call's trace. */
  readonly passedOver: PassedOver[] = [];
  readonly request: RouteRequest;
  readonly #targets: readonly Target[];
  readonly #system: FailoverParams;
  /** What got an attempt; it gets no second one. */
  readonly #tried = new Set<Target>();
  /** Agents without room at this selection; a later selection asks them again (SEMANTICS.md section 5). */
  readonly #refused = new Set<SessionAgent>();
  #at = 0;
  #attempts = 0;
  #path: Group[] = [];
  #failover: FailoverParams;

  constructor(request: RouteRequest, hops: readonly Hop[], targets: readonly Target[], system: FailoverParams) {
    this.request = request;
    this.hops = hops;
    this.#targets = targets;
    this.#system = system;
    this.#failover = system;
  }

  /** How the attempt last selected fails over: the system's parameters with what its group sets itself. */
  get failover(): FailoverParams {
    return this.#failover;
  }

  /** Attempts selected so far. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Takes a place at the next candidate. The caller owns the lease from here on. */
  next(): Selection {
    const maximum = this.#system["max-attempts"];
    if (this.#targets.length === 0) return { kind: "exhausted", cause: "no-route" };
    this.#refused.clear();
    if (maximum > 0 && this.#attempts >= maximum) return { kind: "exhausted", cause: "next-hop-sa-oos" };
    for (; this.#at < this.#targets.length; this.#leave()) {
      const target = this.#targets[this.#at];
      const selection = target && this.#select(target);
      if (selection) {
        this.#attempts++;
        return selection;
      }
    }
    return this.#lastResort() ?? { kind: "exhausted", cause: this.#cause() };
  }

  /**
   * The attempt last selected failed: with a final response off the wire, or with none (timeout, transport failure).
   * True when another candidate may be tried (SEMANTICS.md sections 5 and 8).
   */
  failed(status?: number): boolean {
    const group = this.#targets[this.#at];
    if (group instanceof Group) {
      const { "sag-recursion": recursion, "stop-sag-recurse": stop } = group.params;
      if (recursion === "disabled" || (status !== undefined && matchesCode(stop, status))) this.#leave();
    }
    return status === undefined || matchesCode(this.#failover["recurse-codes"], status);
  }

  eligible(agent: SessionAgent): boolean {
    if (this.#tried.has(agent) || this.#refused.has(agent)) return false;
    const verdict = agent.room({ direction: "outbound", method: this.request.method });
    if (verdict.admitted) return true;
    // Asks for the place that will not be given, so that the refusal is counted at the limit that made it.
    this.#take(agent);
    return false;
  }

  #select(target: Target): Selection | undefined {
    if (target instanceof Group) return this.#selectMember(target);
    if (this.#tried.has(target)) return undefined;
    this.#failover = this.#system;
    if (!("hostname" in target)) {
      this.#tried.add(target);
      return { kind: "address", address: target.address };
    }
    return this.#take(target);
  }

  #selectMember(group: Group): Selection | undefined {
    for (let agent = group.next(this, this.#path); agent; agent = group.next(this, this.#path)) {
      const selection = this.#take(agent, group);
      if (selection) return selection;
    }
    return undefined;
  }

  #take(agent: SessionAgent, group?: Group): Selection | undefined {
    const admission = agent.admit({ direction: "outbound", method: this.request.method });
    if (!admission.admitted) {
      this.#refused.add(agent);
      this.passedOver.push({ agent, verdict: admission });
      return undefined;
    }
    this.#tried.add(agent);
    this.#failover = group ? failoverOf(group, this.#system) : this.#system;
    return { kind: "agent", agent, lease: admission.lease, ...(group && { group: group.name }) };
  }

  /** A Retry-After keeps no one off the last agents that are still in service (SEMANTICS.md section 8). */
  #lastResort(): Selection | undefined {
    for (const { agent } of this.passedOver) {
      if (this.#tried.has(agent) || !agent.heldByRetryAfter) continue;
      const admission = agent.admit({ direction: "outbound", method: this.request.method, ignoreRetryAfter: true });
      if (!admission.admitted) continue;
      this.#tried.add(agent);
      this.#attempts++;
      return { kind: "agent", agent, lease: admission.lease };
    }
    return undefined;
  }

  #leave(): void {
    this.#at++;
    this.#path = [];
  }

  #cause(): ExhaustedCause {
    const full = this.passedOver.some(({ verdict }) => verdict.state === "C" || verdict.state === "I");
    return full ? "next-hop-sa-exc-constraints" : "next-hop-sa-oos";
  }
}

/** What a group sets itself over the system's parameters; worked out once for each group. */
function failoverOf(group: Group, system: FailoverParams): FailoverParams {
  return Object.keys(group.params.failover).length > 0 ? { ...system, ...group.params.failover } : system;
}
