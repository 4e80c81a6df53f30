import type { Ms } from "../clock.ts";
import { AddressIndex, type AddressPattern, numberOf, parsePattern } from "./address.ts";
import type { PolicyAttribute, PolicyParams, PolicyTime } from "./params.ts";
import { minutesInForce, timeMatches } from "./policy-time.ts";
import { namedMethods } from "./routed-methods.ts";

/** What a request is routed by. User parts as in the URI; hosts without port. */
export interface RouteRequest {
  readonly method: string;
  readonly from: string;
  readonly fromHost: string;
  readonly to: string;
  readonly toHost: string;
  readonly sourceRealm: string;
  /** Wall clock, milliseconds since 1970. */
  readonly at: Ms;
  /** The carrier that the caller asks for (`cic`, RFC 4694), as normalCarrier gives it; "" when for none. */
  readonly carrier?: string;
  /** Hostname of the session agent that the request is from, where it is from one. */
  readonly source?: string;
  /** Sent again with credentials: no rate refuses it (SEMANTICS.md section 3). */
  readonly answersChallenge?: boolean;
}

/** One next hop that the request may take, with what its place in the order was decided by. */
export interface Hop {
  readonly policy: PolicyParams;
  /** Position of the policy in the configuration. */
  readonly order: number;
  readonly attribute: PolicyAttribute;
  /** Position of the attribute in the policy. */
  readonly position: number;
  readonly cost: number;
  readonly toLength: number;
  readonly fromLength: number;
  readonly namesMethod: boolean;
  /** Minutes a week that the policy is in force; fewer = narrower. */
  readonly minutes: number;
}

/** A policy whose addresses match, and the first of its other conditions that does not. */
export interface Unfit {
  readonly order: number;
  readonly because: Condition;
}

export type Condition = "source-realm" | "methods" | "time" | "carriers";

/**
 * One policy attribute, under one pair of addresses, with all that decides about it. Flat, and conditions that filter
 * nothing left out: with a hundred thousand policies every object that is looked into costs a trip to memory.
 */
interface Entry {
  readonly policy: PolicyParams;
  readonly order: number;
  readonly attribute: PolicyAttribute;
  readonly position: number;
  readonly cost: number;
  readonly minutes: number;
  readonly realms: readonly string[] | undefined;
  readonly methods: readonly string[] | undefined;
  readonly time: PolicyTime | undefined;
  readonly carriers: readonly string[] | undefined;
  /** Under the same addresses. */
  readonly next: Entry | undefined;
}

/** The entries under one pair of addresses, the last one first. */
interface Slot {
  last: Entry | undefined;
}

/** Local policies, indexed by to-address and, below that, by from-address (SEMANTICS.md section 6). */
export class PolicyTable {
  readonly #byTo = new AddressIndex<AddressIndex<Slot>>();
  /** Whether a policy has several addresses, so that it may match by more than one of them. */
  readonly #mayRepeat: boolean;

  constructor(policies: readonly PolicyParams[]) {
    this.#mayRepeat = policies.some((policy) => policy["to-address"].length > 1 || policy["from-address"].length > 1);
    policies.forEach((policy, order) => {
      const minutes = minutesInForce(policy.time);
      for (const to of patterns(policy["to-address"])) {
        const byFrom = this.#byTo.at(to, () => new AddressIndex<Slot>());
        for (const from of patterns(policy["from-address"])) {
          const slot = byFrom.at(from, () => ({ last: undefined }));
          policy["policy-attributes"].forEach((attribute, position) => {
            slot.last = entryOf(policy, attribute, { order, position, minutes, next: slot.last });
          });
        }
      }
    });
  }

  /** Every next hop of every policy that matches, best first; empty = no route. `unfit` is told what all but matches. */
  hops(request: RouteRequest, unfit?: (policy: Unfit) => void): Hop[] {
    const hops: Hop[] = [];
    const from = numberOf(request.from);
    this.#byTo.match(numberOf(request.to), request.toHost, (byFrom, toLength) => {
      byFrom.match(from, request.fromHost, ({ last }, fromLength) => {
        for (let entry = last; entry; entry = entry.next) {
          const because = unmet(entry, request);
          if (because) unfit?.({ order: entry.order, because });
          else hops.push(hopOf(entry, toLength, fromLength));
        }
      });
    });
    if (hops.length < 2) return hops;
    hops.sort(byPreference);
    return this.#mayRepeat ? withoutRepeats(hops) : hops;
  }
}

function entryOf(
  policy: PolicyParams,
  attribute: PolicyAttribute,
  { order, position, minutes, next }: Pick<Entry, "order" | "position" | "minutes" | "next">,
): Entry {
  const { methods, "source-realm": realms, time } = policy;
  const { cost, carriers } = attribute;
  return {
    policy,
    order,
    attribute,
    position,
    cost,
    minutes,
    realms: realms.length === 0 || realms.includes("*") ? undefined : realms,
    methods: methods.length === 0 ? undefined : methods,
    time,
    carriers: carriers?.length ? carriers : undefined,
    next,
  };
}

const hopOf = (entry: Entry, toLength: number, fromLength: number): Hop => ({
  policy: entry.policy,
  order: entry.order,
  attribute: entry.attribute,
  position: entry.position,
  cost: entry.cost,
  toLength,
  fromLength,
  namesMethod: entry.methods !== undefined,
  minutes: entry.minutes,
});

function patterns(texts: readonly string[]): AddressPattern[] {
  return texts.map(parsePattern).filter((pattern) => pattern !== undefined);
}

/** SEMANTICS.md section 6: method, cost, to-address, from-address, time, order of configuration. */
function byPreference(a: Hop, b: Hop): number {
  return (
    Number(b.namesMethod) - Number(a.namesMethod) ||
    a.cost - b.cost ||
    b.toLength - a.toLength ||
    b.fromLength - a.fromLength ||
    a.minutes - b.minutes ||
    a.order - b.order ||
    a.position - b.position
  );
}

/** The hops of a policy that matches more than once count once, where they come first. */
function withoutRepeats(hops: Hop[]): Hop[] {
  const seen = new Set<PolicyAttribute>();
  return hops.filter((hop) => !seen.has(hop.attribute) && seen.add(hop.attribute));
}

/** A next hop that names carriers is for callers that ask for one of them; one that names none is for every caller. */
function unmet({ realms, methods, time, carriers }: Entry, request: RouteRequest): Condition | undefined {
  if (realms && !realms.includes(request.sourceRealm)) return "source-realm";
  if (methods ? !methods.includes(request.method) : namedMethods.has(request.method)) return "methods";
  if (carriers && !carriers.includes(request.carrier ?? "")) return "carriers";
  return time === undefined || timeMatches(time, request.at) ? undefined : "time";
}
