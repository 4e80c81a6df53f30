import type { Admission, AdmitRequest, Lease, Refusal, SessionAgent } from "../agents/session-agent.ts";
import { matchesCode } from "../params.ts";
import type { PassedOver, Search } from "./candidate.ts";
import { Group } from "./group.ts";
import { agentsOf } from "./member.ts";
import type { FailoverParams } from "./params.ts";
import type { Hop, RouteRequest } from "./policy-table.ts";
import type { Memory } from "./strategies.ts";

/** Where one attempt goes; or that there is nowhere left to go, and why (names of SEMANTICS.md section 7). */
export type Selection =
  | { readonly kind: "agent"; readonly agent: SessionAgent; readonly lease: Lease; readonly group?: string }
  /** A next hop that is no agent: `host`, `host:port` or a SIP URI, as configured. It has no limits and no health. */
  | { readonly kind: "address"; readonly address: string }
  | { readonly kind: "exhausted"; readonly cause: ExhaustedCause };

export type ExhaustedCause = "no-route" | "next-hop-sa-oos" | "next-hop-sa-exc-constraints";

export type Target = SessionAgent | Group | { readonly address: string };

/** Where places are asked for: a call takes them, an explanation only looks. */
export interface Desk {
  admit(agent: SessionAgent, request: AdmitRequest): Admission;
  memoryOf(group: Group): Memory;
}

/** The desk of real calls. */
export const takesPlaces: Desk = {
  admit: (agent, request) => agent.admit(request),
  memoryOf: (group) => group.memory,
};

/**
 * One request's way through its candidates: `next` takes a place at the next agent that has room, `failed` says how
 * that attempt ended. Every selection is made at the moment it is asked for, never ahead.
 */
export class RoutePlan implements Search {
  readonly request: RouteRequest;
  /** The next hops in order of preference, for the call's trace. */
  readonly hops: readonly Hop[];
  /** Agents that were considered and passed over, in order, for the call's trace. */
  readonly passedOver: PassedOver[] = [];
  readonly #targets: readonly Target[];
  readonly #system: FailoverParams;
  readonly #desk: Desk;
  readonly #asked: AdmitRequest;
  /** What got an attempt; it gets no second one. */
  readonly #tried = new Set<Target>();
  /** Agents without room at this selection; a later selection asks them again (SEMANTICS.md section 5). */
  readonly #refused = new Set<SessionAgent>();
  /** Groups whose recursion has ended. */
  #left: Set<Group> | undefined;
  /** Attempts within groups that have a maximum of their own. */
  #attemptsWithin: Map<Group, number> | undefined;
  #at = 0;
  #attempts = 0;
  /** Nested groups that the attempt last selected came from, outermost first. */
  #path: Group[] = [];
  #failover: FailoverParams;

  constructor(
    request: RouteRequest,
    hops: readonly Hop[],
    targets: readonly Target[],
    { system, desk }: { readonly system: FailoverParams; readonly desk: Desk },
  ) {
    this.request = request;
    this.hops = hops;
    this.#targets = targets;
    this.#system = system;
    this.#desk = desk;
    this.#asked = { direction: "outbound", method: request.method };
    this.#failover = system;
  }

  /** How the attempt last selected fails over: the system's parameters with what its groups set, the innermost last. */
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
      if (selection) return selection;
    }
    return this.#lastResort() ?? { kind: "exhausted", cause: this.#cause() };
  }

  /**
   * The attempt last selected failed: with a final response off the wire, or with none (timeout, transport failure).
   * True when another candidate may be tried (SEMANTICS.md sections 5 and 8).
   */
  failed(status?: number): boolean {
    const outer = this.#targets[this.#at];
    if (outer instanceof Group) {
      // The innermost group decides first whether its members go on; where they do not, those around it may.
      for (const group of [outer, ...this.#path]) if (this.#isOver(group, status)) this.#leaveGroup(group);
    }
    return status === undefined || matchesCode(this.#failover["recurse-codes"], status);
  }

  eligible(agent: SessionAgent): boolean {
    if (this.#tried.has(agent) || this.#refused.has(agent)) return false;
    const room = agent.room(this.#asked);
    if (room.admitted) return true;
    // Asks for the place that will not be given, so that the refusal is counted at the limit that made it.
    this.#take(agent);
    return false;
  }

  left(group: Group): boolean {
    return this.#left?.has(group) === true;
  }

  memoryOf(group: Group): Memory {
    return this.#desk.memoryOf(group);
  }

  #select(target: Target): Selection | undefined {
    if (target instanceof Group) return this.left(target) ? undefined : this.#selectMember(target);
    if (this.#tried.has(target)) return undefined;
    if ("hostname" in target) return this.#take(target);
    this.#attempt(target);
    return { kind: "address", address: target.address };
  }

  #selectMember(group: Group): Selection | undefined {
    for (let agent = group.next(this, this.#path); agent; agent = group.next(this, this.#path)) {
      const selection = this.#take(agent, group);
      if (selection) return selection;
    }
    return undefined;
  }

  #take(agent: SessionAgent, group?: Group): Selection | undefined {
    const admission = this.#desk.admit(agent, this.#asked);
    if (!admission.admitted) {
      this.#refused.add(agent);
      this.#passOver(agent, admission);
      return undefined;
    }
    this.#attempt(agent, group);
    return { kind: "agent", agent, lease: admission.lease, ...(group && { group: (this.#path.at(-1) ?? group).name }) };
  }

  #attempt(target: Target, group?: Group): void {
    this.#tried.add(target);
    this.#attempts++;
    this.#failover = this.#system;
    if (!group) return;
    this.#enter(group);
    for (const nested of this.#path) this.#enter(nested);
  }

  #enter(group: Group): void {
    this.#failover = group.failoverOver(this.#failover);
    if (!group.params.failover["max-attempts"]) return;
    this.#attemptsWithin ??= new Map();
    this.#attemptsWithin.set(group, (this.#attemptsWithin.get(group) ?? 0) + 1);
  }

  #passOver(agent: SessionAgent, { state, exceeded }: Refusal): void {
    const { hostname, reason, since, resumeAt: resumesAt } = agent;
    this.passedOver.push({ agent: hostname, after: this.#attempts, state, reason, since, resumesAt, exceeded });
  }

  /**
   * A Retry-After keeps no one off the last agent that was still in service (SEMANTICS.md section 8). Of several that are
   * held, that is the one whose hold came last.
   */
  #lastResort(): Selection | undefined {
    if (!this.passedOver.some(({ exceeded }) => exceeded.some(({ limit }) => limit === "retry-after")))
      return undefined;
    let last: SessionAgent | undefined;
    for (const agent of this.#candidates()) {
      if (agent.letter === "I") return undefined;
      if (agent.heldByRetryAfter && agent.letter === "C" && (!last || agent.since >= last.since)) last = agent;
    }
    if (!last || this.#tried.has(last)) return undefined;
    const admission = this.#desk.admit(last, { ...this.#asked, ignoreRetryAfter: true });
    if (!admission.admitted) return undefined;
    this.#attempt(last);
    return { kind: "agent", agent: last, lease: admission.lease };
  }

  #candidates(): SessionAgent[] {
    return this.#targets.flatMap((target) => {
      if (target instanceof Group) return agentsOf(target);
      return "hostname" in target ? [target] : [];
    });
  }

  #isOver(group: Group, status: number | undefined): boolean {
    const { "sag-recursion": recursion, "stop-sag-recurse": stop, failover } = group.params;
    if (recursion === "disabled" || (status !== undefined && matchesCode(stop, status))) return true;
    return (this.#attemptsWithin?.get(group) ?? 0) >= (failover["max-attempts"] || Number.POSITIVE_INFINITY);
  }

  #leaveGroup(group: Group): void {
    this.#left ??= new Set();
    this.#left.add(group);
  }

  #leave(): void {
    this.#at++;
    this.#path = [];
  }

  #cause(): ExhaustedCause {
    const full = this.passedOver.some(({ state }) => state === "C" || state === "I");
    return full ? "next-hop-sa-exc-constraints" : "next-hop-sa-oos";
  }
}
