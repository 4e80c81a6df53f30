import type { Ms } from "../clock.ts";
import { AddressIndex, type AddressPattern, numberOf, parsePattern } from "./address.ts";
import type { PolicyAttribute, PolicyParams, PolicyTime } from "./params.ts";

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

interface Policy {
  readonly params: PolicyParams;
  readonly order: number;
  readonly minutes: number;
}

const days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const minutesADay = 24 * 60;

/** Local policies, indexed by to-address and, below that, by from-address (SEMANTICS.md section 6). */
export class PolicyTable {
  readonly #byTo = new AddressIndex<AddressIndex<Policy[]>>();

  constructor(policies: readonly PolicyParams[]) {
    policies.forEach((params, order) => {
      const policy = { params, order, minutes: minutesInForce(params.time) };
      for (const to of patterns(params["to-address"])) {
        const byFrom = this.#byTo.at(to, () => new AddressIndex<Policy[]>());
        for (const from of patterns(params["from-address"])) byFrom.at(from, () => []).push(policy);
      }
    });
  }

  /** Every next hop of every policy that matches, best first. Empty = no route. */
  hops(request: RouteRequest): Hop[] {
    const hops: Hop[] = [];
    const from = numberOf(request.from);
    this.#byTo.match(numberOf(request.to), request.toHost, (byFrom, toLength) => {
      byFrom.match(from, request.fromHost, (policies, fromLength) => {
        for (const policy of policies) {
          if (!inForce(policy.params, request)) continue;
          const namesMethod = policy.params.methods.length > 0;
          for (const attribute of policy.params["policy-attributes"]) {
            const { params, order, minutes } = policy;
            hops.push({ policy: params, order, attribute, toLength, fromLength, namesMethod, minutes });
          }
        }
      });
    });
    return hops.length > 1 ? withoutRepeats(hops.sort(byPreference)) : hops;
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

/** A policy with several addresses may match by more than one of them: its hops count once, where they come first. */
function withoutRepeats(hops: Hop[]): Hop[] {
  const seen = new Set<PolicyAttribute>();
  return hops.filter((hop) => !seen.has(hop.attribute) && seen.add(hop.attribute));
}

function inForce(policy: PolicyParams, request: RouteRequest): boolean {
  const realms = policy["source-realm"];
  if (realms.length > 0 && !realms.includes("*") && !realms.includes(request.sourceRealm)) return false;
  if (policy.methods.length > 0 && !policy.methods.includes(request.method)) return false;
  return policy.time === undefined || timeMatches(policy.time, request.at);
}

function timeMatches(time: PolicyTime, at: Ms): boolean {
  if (time.activate && at < time.activate) return false;
  if (time.deactivate && at >= time.deactivate) return false;
  const date = new Date(at);
  const minute = date.getHours() * 60 + date.getMinutes();
  const spansMidnight = time.start > time.end;
  const inHours = spansMidnight ? minute >= time.start || minute < time.end : minute >= time.start && minute < time.end;
  if (!inHours) return false;
  // After midnight a span still belongs to the day on which it began.
  const day = spansMidnight && minute < time.end ? (date.getDay() + 6) % 7 : date.getDay();
  return time["days-of-week"].length === 0 || time["days-of-week"].includes(days[day] ?? "");
}

function minutesInForce(time: PolicyTime | undefined): number {
  if (!time) return 7 * minutesADay;
  const perDay = time.end > time.start ? time.end - time.start : minutesADay - time.start + time.end;
  return perDay * (time["days-of-week"].length || 7);
}
