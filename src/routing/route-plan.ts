import type { Admission, AdmitRequest, Lease, Refusal, SessionAgent } from "../agents/session-agent.ts";
import { matchesCode } from "../params.ts";
import type { PassedOver, Search } from "./candidate.ts";
import { Group } from "./group.ts";
import { agentsOf } from "./member.ts";
import type { FailoverParams } from "./params.ts";
import type { Hop, RouteRequest } from "./policy-table.ts";
import type { Memory } from "./strategies.ts";
import type { Numbers } from "./translation.ts";

/** Where one attempt goes; or that there is nowhere left to go, and why (names of SEMANTICS.md section 7). */
export type Selection =
  | (Way & { readonly kind: "agent"; readonly agent: SessionAgent; readonly lease: Lease; readonly group?: string })
  /** A next hop that is no agent: `host`, `host:port` or a SIP URI, as configured. It has no limits and no health. */
  | (Way & { readonly kind: "address"; readonly address: string })
  | { readonly kind: "exhausted"; readonly cause: ExhaustedCause };

/** What led to a next hop, and how the request is changed on its way there. */
interface Way {
  /** Position in the configuration of the policy that it comes from. */
  readonly policy: number;
  /** The numbers it is sent with; undefined = as they came. */
  readonly numbers?: Numbers;
  /** The Contact of a 3xx that is followed. */
  readonly redirect?: Redirect;
}

export type ExhaustedCause = "no-route" | "next-hop-sa-oos" | "next-hop-sa-exc-constraints" | "translation-failed";

export type Target = SessionAgent | Group | { readonly address: string };

/** A Contact of a 3xx. */
export interface Redirect {
  readonly uri: string;
  /** As in the URI, "" when it has none. */
  readonly user: string;
  readonly host: string;
  /** 0 when the URI names none. */
  readonly port: number;
}

/** Why a request goes where it goes: plain data that grows with the search. */
export interface RouteTrace {
  /** With the numbers that it was routed by. */
  readonly request: RouteRequest;
  /** The next hops in order of preference. */
  readonly hops: readonly Hop[];
  /** Agents that were considered and passed over, in order. */
  readonly passedOver: readonly PassedOver[];
}

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

/** What a plan needs around it. */
export interface PlanParts {
  readonly system: FailoverParams;
  readonly desk: Desk;
  targetOf(hop: Hop): Target;
  /** The numbers on the way to an agent: undefined = as they are. */
  translate(agent: SessionAgent, numbers: Numbers): Numbers | undefined;
  agentAt(host: string, port: number): SessionAgent | undefined;
}

/** Contacts followed for one call: more is a loop that changes its addresses on the way. */
const maxRedirects = 10;

/**
 * One request's way through its candidates: `next` takes a place at the next agent that has room, `failed` says how
 * that attempt ended. Every selection is made at the moment it is asked for, never ahead.
 */
export class RoutePlan implements Search {
  readonly trace: RouteTrace;
  readonly #passedOver: PassedOver[] = [];
  readonly #parts: PlanParts;
  readonly #asked: AdmitRequest;
  /** The numbers that the caller's translation has made; undefined = as they came. */
  readonly #inbound: Numbers | undefined;
  /** What got an attempt; it gets no second one. */
  readonly #tried = new Set<Target>();
  /** Agents that will not do at this selection; a later one asks them again (SEMANTICS.md section 5). */
  #refused: Set<SessionAgent> | undefined;
  /** Groups whose recursion has ended. */
  #left: Set<Group> | undefined;
  /** Attempts within groups that have a maximum of their own. */
  #attemptsWithin: Map<Group, number> | undefined;
  /** Contacts to follow before anything else, and whether the attempt last selected followed one. */
  #redirects: Redirect[] = [];
  #following = false;
  /** Contacts that were to be followed so far. */
  #contacts = 0;
  /** Where Contacts have led or would lead back to. */
  #visited: Set<string> | undefined;
  #at = 0;
  /** The policy that is asked, by its position; while Contacts are followed that of the attempt that named them. */
  #policy = -1;
  #attempts = 0;
  /** What the attempt last selected goes to. */
  #last: Target | undefined;
  /** Nested groups that the attempt last selected came from, outermost first. */
  #path: Group[] = [];
  #failover: FailoverParams;

  constructor(request: RouteRequest, hops: readonly Hop[], parts: PlanParts, inbound?: Numbers) {
    this.trace = { request, hops, passedOver: this.#passedOver };
    this.#parts = parts;
    this.#inbound = inbound;
    const { method, answersChallenge } = request;
    this.#asked = { direction: "outbound", method, ...(answersChallenge && { answersChallenge }) };
    this.#failover = parts.system;
  }

  /** How the attempt last selected fails over: the system's parameters with what its groups set, the innermost last. */
  get failover(): FailoverParams {
    return this.#failover;
  }

  /** What a 3xx of the attempt last selected does: its agent's word, else that of its groups and of the system. */
  get redirectAction(): FailoverParams["redirect-action"] {
    const action = this.#last && "hostname" in this.#last ? this.#last.params["redirect-action"] : "inherit";
    return action === "inherit" ? this.#failover["redirect-action"] : action;
  }

  /** Attempts selected so far. */
  get attempts(): number {
    return this.#attempts;
  }

  /** True when the attempt last selected followed a Contact. */
  get following(): boolean {
    return this.#following;
  }

  /** Takes a place at the next candidate. The caller owns the lease from here on. */
  next(): Selection {
    if (this.#inbound?.called === "") return { kind: "exhausted", cause: "translation-failed" };
    if (this.trace.hops.length === 0) return { kind: "exhausted", cause: "no-route" };
    this.#refused = undefined;
    const maximum = this.#parts.system["max-attempts"];
    if (maximum > 0 && this.#attempts >= maximum) return { kind: "exhausted", cause: "next-hop-sa-oos" };
    return (
      this.#nextContact() ?? this.#nextTarget() ?? this.#lastResort() ?? { kind: "exhausted", cause: this.#cause() }
    );
  }

  /**
   * The attempt last selected failed: with a final response off the wire, or with none (timeout, transport failure).
   * True when another candidate may be tried (SEMANTICS.md sections 5 and 8).
   */
  failed(status?: number): boolean {
    if (!this.#following) this.#leaveGroups(status);
    return status === undefined || matchesCode(this.#failover["recurse-codes"], status);
  }

  /**
   * The attempt last selected was answered with a 3xx whose Contacts, best first, are to be followed. `loop` when all of
   * them lead back to where the call has been, or too many were followed; `none` when there are none.
   */
  redirected(contacts: readonly Redirect[]): "followed" | "loop" | "none" {
    if (contacts.length === 0) return "none";
    const visited = this.#visited ?? new Set<string>();
    this.#visited = visited;
    for (const target of this.#tried) {
      if ("hostname" in target) visited.add(placeOf(this.#numbersFor(target).called, target));
    }
    const fresh = contacts.filter((contact) => {
      const agent = this.#parts.agentAt(contact.host, contact.port);
      const place = agent ? placeOf(contact.user, agent) : contact.uri;
      if (visited.has(place) || this.#contacts >= maxRedirects) return false;
      this.#contacts++;
      return visited.add(place);
    });
    if (fresh.length === 0) return "loop";
    if (!this.#following) this.#leaveGroups(undefined);
    this.#redirects.unshift(...fresh);
    return "followed";
  }

  eligible(agent: SessionAgent): boolean {
    if (this.#tried.has(agent) || this.#refused?.has(agent)) return false;
    if (this.#numbersFor(agent).called === "" && this.#base.called !== "") {
      this.#passOver(agent, { admitted: false, state: agent.letter, exceeded: [] }, "translation");
      return false;
    }
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
    return this.#parts.desk.memoryOf(group);
  }

  #nextContact(): Selection | undefined {
    for (let redirect = this.#redirects.shift(); redirect; redirect = this.#redirects.shift()) {
      const agent = this.#parts.agentAt(redirect.host, redirect.port);
      this.#following = true;
      if (!agent) {
        this.#attempt({ address: redirect.uri });
        return { kind: "address", address: redirect.uri, policy: this.#policy, redirect };
      }
      const selection = this.#take(agent, undefined, redirect);
      if (selection) return selection;
    }
    this.#following = false;
    return undefined;
  }

  #nextTarget(): Selection | undefined {
    const { hops } = this.trace;
    for (let hop = hops[this.#at]; hop; this.#leave(), hop = hops[this.#at]) {
      this.#policy = hop.order;
      const selection = this.#select(this.#parts.targetOf(hop));
      if (selection) return selection;
    }
    return undefined;
  }

  get #target(): Target | undefined {
    const hop = this.trace.hops[this.#at];
    return hop && this.#parts.targetOf(hop);
  }

  #select(target: Target): Selection | undefined {
    if (target instanceof Group) return this.left(target) ? undefined : this.#selectMember(target);
    if (this.#tried.has(target)) return undefined;
    if ("hostname" in target) return this.eligible(target) ? this.#take(target) : undefined;
    this.#attempt(target);
    const { address } = target;
    return { kind: "address", address, policy: this.#policy, ...(this.#inbound && { numbers: this.#inbound }) };
  }

  #selectMember(group: Group): Selection | undefined {
    for (let agent = group.next(this, this.#path); agent; agent = group.next(this, this.#path)) {
      const selection = this.#take(agent, group);
      if (selection) return selection;
    }
    return undefined;
  }

  #take(agent: SessionAgent, group?: Group, redirect?: Redirect): Selection | undefined {
    const admission = this.#parts.desk.admit(agent, this.#asked);
    if (!admission.admitted) {
      this.#passOver(agent, admission);
      return undefined;
    }
    this.#attempt(agent, group);
    const name = group && (this.#path.at(-1) ?? group).name;
    return this.#selection(agent, admission.lease, name, redirect);
  }

  #selection(agent: SessionAgent, lease: Lease, group?: string, redirect?: Redirect): Selection {
    const called = redirect?.user || this.#base.called;
    const numbers = this.#parts.translate(agent, { called, calling: this.#base.calling }) ?? this.#inbound;
    return {
      kind: "agent",
      agent,
      lease,
      policy: this.#policy,
      ...(group !== undefined && { group }),
      ...(numbers && { numbers: redirect && numbers === this.#inbound ? { ...numbers, called } : numbers }),
      ...(redirect && { redirect }),
    };
  }

  /** The numbers that the call is routed by. */
  get #base(): Numbers {
    return this.#inbound ?? { called: this.trace.request.to, calling: this.trace.request.from };
  }

  #numbersFor(agent: SessionAgent): Numbers {
    const base = this.#base;
    return this.#parts.translate(agent, base) ?? base;
  }

  #attempt(target: Target, group?: Group): void {
    this.#tried.add(target);
    this.#last = target;
    this.#attempts++;
    // A Contact is followed as the agent that named it says.
    if (this.#following) return;
    this.#failover = this.#parts.system;
    if (group) {
      this.#enter(group);
      for (const nested of this.#path) this.#enter(nested);
    }
  }

  #enter(group: Group): void {
    this.#failover = group.failoverOver(this.#failover);
    if (group.maxAttempts === undefined) return;
    this.#attemptsWithin ??= new Map();
    this.#attemptsWithin.set(group, (this.#attemptsWithin.get(group) ?? 0) + 1);
  }

  #passOver(agent: SessionAgent, { state, exceeded }: Refusal, because?: "translation"): void {
    const { hostname, since, resumeAt: resumesAt } = agent;
    const reason = because ?? agent.reason;
    this.#refused ??= new Set();
    this.#refused.add(agent);
    this.#passedOver.push({ agent: hostname, after: this.#attempts, state, reason, since, resumesAt, exceeded });
  }

  /**
   * A Retry-After keeps no one off the last agent that was still in service (SEMANTICS.md section 8). Of several that are
   * held, that is the one whose hold came last.
   */
  #lastResort(): Selection | undefined {
    if (!this.#passedOver.some(({ exceeded }) => exceeded.some(({ limit }) => limit === "retry-after")))
      return undefined;
    let last: SessionAgent | undefined;
    for (const hop of this.trace.hops) {
      for (const agent of this.#agentsAt(hop)) {
        if (agent.letter === "I") return undefined;
        if (agent === last || !agent.heldByRetryAfter || agent.letter !== "C") continue;
        if (last && agent.since < last.since) continue;
        last = agent;
        this.#policy = hop.order;
      }
    }
    if (!last || this.#tried.has(last)) return undefined;
    const admission = this.#parts.desk.admit(last, { ...this.#asked, ignoreRetryAfter: true });
    if (!admission.admitted) return undefined;
    this.#attempt(last);
    return this.#selection(last, admission.lease);
  }

  #agentsAt(hop: Hop): readonly SessionAgent[] {
    const target = this.#parts.targetOf(hop);
    if (target instanceof Group) return agentsOf(target);
    return "hostname" in target ? [target] : [];
  }

  /** The innermost group decides first whether its members go on; where they do not, those of the groups around it may. */
  #leaveGroups(status: number | undefined): void {
    const outer = this.#target;
    if (!(outer instanceof Group)) return;
    for (const group of [outer, ...this.#path]) if (this.#isOver(group, status)) this.#leaveGroup(group);
  }

  #isOver(group: Group, status: number | undefined): boolean {
    const { "sag-recursion": recursion, "stop-sag-recurse": stop } = group.params;
    if (recursion === "disabled" || (status !== undefined && matchesCode(stop, status))) return true;
    return (this.#attemptsWithin?.get(group) ?? 0) >= (group.maxAttempts ?? Number.POSITIVE_INFINITY);
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
    if (this.#passedOver.some(({ exceeded }) => exceeded.length > 0)) return "next-hop-sa-exc-constraints";
    if (this.#passedOver.length === 0) return "next-hop-sa-oos";
    return this.#passedOver.every(({ reason }) => reason === "translation") ? "translation-failed" : "next-hop-sa-oos";
  }
}

/** What tells one place that a call was sent to from another. */
const placeOf = (called: string, { hostname }: SessionAgent): string => `${called} ${hostname}`;
