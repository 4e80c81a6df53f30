import type { Ms } from "../clock.ts";
import { AddressIndex, type AddressPattern, numberOf, parsePattern } from "./address.ts";
import type { PolicyAttribute, PolicyParams } from "./params.ts";
import { minutesInForce, timeMatches } from "./policy-time.ts";

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
}

/** One next hop that the request may take, with what its place in the order was decided by. */
export interface Hop {
  readonly policy: PolicyParams;
  /** Position of the policy in the configuration. */
  readonly order: number;
  readonly attribute: PolicyAttribute;
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

interface Policy {
  readonly params: PolicyParams;
  readonly order: number;
  readonly minutes: number;
}

/** Local policies, indexed by to-address and, below that, by from-address (SEMANTICS.md section 6). */
export class PolicyTable {
  readonly #byTo = new AddressIndex<AddressIndex<Policy[]>>();
  /** Whether a policy has several addresses, so that it may match by more than one of them. */
  readonly #mayRepeat: boolean;

  constructor(policies: readonly PolicyParams[]) {
    this.#mayRepeat = policies.some((policy) => policy["to-address"].length > 1 || policy["from-address"].length > 1);
    policies.forEach((params, order) => {
      const policy = { params, order, minutes: minutesInForce(params.time) };
      for (const to of patterns(params["to-address"])) {
        const byFrom = this.#byTo.at(to, () => new AddressIndex<Policy[]>());
        for (const from of patterns(params["from-address"])) byFrom.at(from, () => []).push(policy);
      }
    });
  }

  /** Every next hop of every policy that matches, best first; empty = no route. `unfit` is told what all but matches. */
  hops(request: RouteRequest, unfit?: (policy: Unfit) => void): Hop[] {
    const hops: Hop[] = [];
    const from = numberOf(request.from);
    this.#byTo.match(numberOf(request.to), request.toHost, (byFrom, toLength) => {
      byFrom.match(from, request.fromHost, (policies, fromLength) => {
        for (const { params: policy, order, minutes } of policies) {
          const because = unmet(policy, request);
          if (because) {
            unfit?.({ order, because });
            continue;
          }
          const namesMethod = policy.methods.length > 0;
          for (const attribute of policy["policy-attributes"]) {
            if (servesCarrier(attribute, request)) {
              hops.push({ policy, order, attribute, toLength, fromLength, namesMethod, minutes });
            } else unfit?.({ order, because: "carriers" });
          }
        }
      });
    });
    if (hops.length < 2) return hops;
    hops.sort(byPreference);
    return this.#mayRepeat ? withoutRepeats(hops) : hops;
  }
}

function patterns(texts: readonly string[]): AddressPattern[] {
  return texts.map(parsePattern).filter((pattern) => pattern !== undefined);
}

/** SEMANTICS.md section 6: method, cost, to-address, from-address, time, order of configuration. */
function byPreference(a: Hop, b: Hop): number {
  return (
    Number(b.namesMethod) - Number(a.namesMethod) ||
    a.attribute.cost - b.attribute.cost ||
    b.toLength - a.toLength ||
    b.fromLength - a.fromLength ||
    a.minutes - b.minutes ||
    a.order - b.order
  );
}

/** The hops of a policy that matches more than once count once, where they come first. */
function withoutRepeats(hops: Hop[]): Hop[] {
  const seen = new Set<PolicyAttribute>();
  return hops.filter((hop) => !seen.has(hop.attribute) && seen.add(hop.attribute));
}

function unmet(policy: PolicyParams, request: RouteRequest): Condition | undefined {
  const realms = policy["source-realm"];
  if (realms.length > 0 && !realms.includes("*") && !realms.includes(request.sourceRealm)) return "source-realm";
  if (policy.methods.length > 0 && !policy.methods.includes(request.method)) return "methods";
  return policy.time === undefined || timeMatches(policy.time, request.at) ? undefined : "time";
}

/** A next hop that names carriers is for callers that ask for one of them; one that names none is for every caller. */
const servesCarrier = ({ carriers }: PolicyAttribute, { carrier = "" }: RouteRequest): boolean =>
  carriers === undefined || carriers.length === 0 || carriers.includes(carrier);
