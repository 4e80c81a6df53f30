import type { Exceeded, Lease, SessionAgent } from "../agents/session-agent.ts";
import { type StateLetter, stateWords } from "../agents/state.ts";
import type { Ms } from "../clock.ts";
import { normalHost, numberOf, parsePattern } from "./address.ts";
import type { PassedOver } from "./candidate.ts";
import type { Group } from "./group.ts";
import type { Condition, Hop, RouteRequest, Unfit } from "./policy-table.ts";
import type { Desk, ExhaustedCause, RoutePlan, RouteTrace } from "./route-plan.ts";
import { copyOf, type Memory } from "./strategies.ts";

/** Why a call goes, or went, where it does. Dates are ISO 8601. */
export interface RouteView {
  /** The policies that match and their next hops, in order of preference. */
  readonly policies: readonly HopView[];
  /** Agents that were considered and passed over, in order. */
  readonly skipped: readonly SkippedView[];
}

export interface HopView {
  /** As the configuration names it: `local-policies[3]`. */
  readonly policy: string;
  readonly "next-hop": string;
  readonly cost: number;
  /** The addresses of the policy that matched. */
  readonly "to-address": string;
  readonly "from-address": string;
  readonly why: string;
}

export interface SkippedView {
  readonly agent: string;
  readonly state: { readonly letter: StateLetter; readonly word: string };
  readonly reason: string;
  readonly since: string;
  readonly resumeAt: string | null;
  readonly exceeded: readonly Exceeded[];
  /** Attempts made before it was asked. */
  readonly after: number;
  /** All of it in a line: `O: no response since 12:01:07Z, resumes 12:01:37Z`. */
  readonly why: string;
}

/** Where a call would go: the next hop of each attempt, if each attempt before it failed. */
export interface CandidateView {
  readonly agent?: string;
  readonly address?: string;
  readonly group?: string;
  /** The policy that it comes from, as in `policies`. */
  readonly policy: string;
  /** The called and calling number that it would be sent, where they are translated. */
  readonly called?: string;
  readonly calling?: string;
}

export interface Explanation extends RouteView {
  readonly request: Omit<RouteRequest, "at"> & { readonly at: string };
  /** Policies whose addresses match, and the condition that does not. */
  readonly unfit: readonly { readonly policy: string; readonly because: Condition }[];
  readonly candidates: readonly CandidateView[];
  /** How the search ends when no candidate answers; where there is none, what the caller is refused for. */
  readonly exhausted: ExhaustedCause;
}

/** A desk that says whether there is a place and gives none, so that nothing is moved by asking. */
export function looksOnly(): Desk {
  const memories = new Map<Group, Memory>();
  return {
    admit(agent, request) {
      const room = agent.room(request);
      return room.admitted ? { admitted: true, lease: noPlace(agent) } : room;
    },
    memoryOf(group) {
      const memory = memories.get(group) ?? copyOf(group.memory);
      memories.set(group, memory);
      return memory;
    },
  };
}

const noPlace = (agent: SessionAgent): Lease => ({ agent, direction: "outbound", answered() {}, release() {} });

/** `wallMinusMonotonic`: what turns the moments of a trace into dates. */
export function routeView({ request, hops, passedOver }: RouteTrace, wallMinusMonotonic: Ms): RouteView {
  return {
    policies: hops.map((hop) => hopView(hop, request)),
    skipped: passedOver.map((each) => skippedView(each, wallMinusMonotonic)),
  };
}

/** Walks a plan made with `looksOnly` to its end. */
export function explained(plan: RoutePlan, unfit: readonly Unfit[], wallMinusMonotonic: Ms): Explanation {
  const candidates: CandidateView[] = [];
  for (;;) {
    const selection = plan.next();
    if (selection.kind === "exhausted") {
      const { at, ...request } = plan.trace.request;
      return {
        request: { ...request, at: new Date(at).toISOString() },
        ...oncePerAgent(routeView(plan.trace, wallMinusMonotonic)),
        unfit: [...unfit]
          .sort((a, b) => a.order - b.order)
          .map(({ order, because }) => ({ policy: policyName(order), because })),
        candidates,
        exhausted: selection.cause,
      };
    }

    const where =
      selection.kind === "agent"
        ? { agent: selection.agent.hostname, ...(selection.group !== undefined && { group: selection.group }) }
        : { address: selection.address };
    candidates.push({ ...where, policy: policyName(selection.policy), ...selection.numbers });
    plan.failed();
  }
}

/** Every attempt asks again; while nothing changes, the answers are the same. */
function oncePerAgent({ policies, skipped }: RouteView): RouteView {
  const first = new Map<string, SkippedView>();
  for (const each of skipped) if (!first.has(each.agent)) first.set(each.agent, each);
  return { policies, skipped: [...first.values()] };
}

export const policyName = (order: number): string => `local-policies[${order}]`;

function hopView({ policy, order, attribute, toLength, fromLength, minutes }: Hop, request: RouteRequest): HopView {
  const to = patternOf(policy["to-address"], request.to, request.toHost, toLength);
  const from = patternOf(policy["from-address"], request.from, request.fromHost, fromLength);
  const why = [
    `to-address ${to}`,
    `from-address ${from}`,
    `source-realm ${policy["source-realm"].includes("*") ? "*" : request.sourceRealm}`,
    ...(policy.methods.length > 0 ? [`method ${request.method}`] : []),
    ...(policy.time ? [`in force ${minutes} minutes a week`] : []),
    ...(attribute.carriers?.length ? [`carrier ${request.carrier}`] : []),
    `cost ${attribute.cost}`,
  ].join(", ");
  return {
    policy: policyName(order),
    "next-hop": attribute["next-hop"],
    cost: attribute.cost,
    "to-address": to,
    "from-address": from,
    why,
  };
}

/** The address of a policy that matched with this length. */
function patternOf(addresses: readonly string[], user: string, host: string, length: number): string {
  const number = numberOf(user);
  const matched = addresses.find((address) => {
    const pattern = parsePattern(address);
    if (pattern?.kind === "number") return pattern.prefix.length === length && number.startsWith(pattern.prefix);
    if (pattern?.kind === "host") return pattern.host.length === length && normalHost(host).endsWith(pattern.host);
    return length === 0;
  });
  return matched ?? "*";
}

function skippedView(passed: PassedOver, wallMinusMonotonic: Ms): SkippedView {
  const { agent, after, state, reason, exceeded } = passed;
  const since = new Date(passed.since + wallMinusMonotonic).toISOString();
  const resumeAt =
    passed.resumesAt === undefined ? null : new Date(passed.resumesAt + wallMinusMonotonic).toISOString();
  const cause = limitsOf(exceeded) || `${reasonTexts[reason] ?? reason} since ${timeOf(since)}`;
  const why = `${state}: ${cause}${resumeAt === null ? "" : `, resumes ${timeOf(resumeAt)}`}`;
  return { agent, state: { letter: state, word: stateWords[state] }, reason, since, resumeAt, exceeded, after, why };
}

/** Without dates, which take long to write: `carrier-a C max-outbound-sessions 100/100`. */
export const shortOf = ({ agent, state, reason, exceeded }: PassedOver): string =>
  `${agent} ${state} ${limitsOf(exceeded) || reason}`;

const limitsOf = (exceeded: readonly Exceeded[]): string =>
  exceeded.map(({ limit, value, maximum }) => `${limit} ${rounded(value)}/${maximum}`).join(", ");

/** Reasons in the words of a person; the others are that already. */
const reasonTexts: Readonly<Record<string, string>> = {
  timeout: "no response",
  "ping-timeout": "no response to a ping",
  "transport-failure": "transport failure",
  "ping-transport-failure": "transport failure of a ping",
  "name-failure": "name without an address",
  response: "refused by a listed response code",
  "ping-response": "ping refused by a listed response code",
  translation: "its translation empties the called number",
};

const rounded = (value: number): number => Math.round(value * 100) / 100;

/** Of the day, in UTC. */
const timeOf = (iso: string): string => `${iso.slice(11, 19)}Z`;
