import type { AgentManager } from "../agents/agent-manager.ts";
import type { SessionAgent } from "../agents/session-agent.ts";
import type { Ms } from "../clock.ts";
import { normalCarrier } from "./address.ts";
import { type Explanation, explained, looksOnly } from "./explanation.ts";
import { Group } from "./group.ts";
import type { FailoverParams, GroupParams, PolicyParams } from "./params.ts";
import { PolicyTable, type RouteRequest, type Unfit } from "./policy-table.ts";
import { type Desk, type PlanParts, RoutePlan, type Target, takesPlaces } from "./route-plan.ts";
import type { TranslationParams } from "./translation-params.ts";
import { type RealmTranslation, Translations } from "./translations.ts";

export interface RoutingConfig {
  readonly groups: readonly GroupParams[];
  readonly policies: readonly PolicyParams[];
  readonly failover: FailoverParams;
  readonly translations?: readonly TranslationParams[];
  readonly realms?: readonly RealmTranslation[];
}

/** Says where a request may go. References in the configuration are checked before: a dangling one here is a defect. */
export class Router {
  readonly #agents: AgentManager;
  readonly #groups: ReadonlyMap<string, Group>;
  readonly #policies: PolicyTable;
  readonly #failover: FailoverParams;
  readonly #translations: Translations;
  readonly #forCalls: PlanParts;
  /** Next hops by name, so that an address is one target however many policies name it. */
  readonly #targets = new Map<string, Target>();

  constructor(config: RoutingConfig, agents: AgentManager) {
    this.#agents = agents;
    this.#groups = buildGroups(config.groups, (name) => agents.get(name));
    this.#policies = new PolicyTable(config.policies);
    this.#failover = config.failover;
    this.#translations = new Translations(config.translations ?? [], config.realms ?? [], agents);
    this.#forCalls = this.#partsWith(takesPlaces);
  }

  get groups(): Iterable<Group> {
    return this.#groups.values();
  }

  /** The system's, where no group sets its own. */
  get failover(): FailoverParams {
    return this.#failover;
  }

  /** The way of one request through its candidates. */
  plan(request: RouteRequest): RoutePlan {
    return this.#plan(request, this.#forCalls);
  }

  /**
   * Where the request would go and why, without a call: no counter, no count of refusals and no memory of a strategy is
   * moved. Agents are taken as they are now, policies as they are at `request.at`. `wallMinusMonotonic`: what turns
   * moments into dates.
   */
  explain(asked: RouteRequest, wallMinusMonotonic: Ms): Explanation {
    const unfit: Unfit[] = [];
    const request = { ...asked, carrier: normalCarrier(asked.carrier ?? "") };
    const plan = this.#plan(request, this.#partsWith(looksOnly()), (policy) => unfit.push(policy));
    return explained(plan, unfit, wallMinusMonotonic);
  }

  #plan(asked: RouteRequest, parts: PlanParts, unfit?: (policy: Unfit) => void): RoutePlan {
    const numbers = this.#translations.inbound(asked);
    const request = numbers ? { ...asked, to: numbers.called, from: numbers.calling } : asked;
    const hops = this.#policies.hops(request, unfit);
    return new RoutePlan(request, hops, parts, numbers);
  }

  #partsWith(desk: Desk): PlanParts {
    return {
      desk,
      system: this.#failover,
      targetOf: (hop) => this.#target(hop.attribute["next-hop"]),
      translate: (agent, numbers) => this.#translations.outbound(agent, numbers),
      agentAt: (host, port) => this.#agents.byTarget(host, port),
    };
  }

  #target(nextHop: string): Target {
    const known = this.#targets.get(nextHop);
    if (known) return known;
    const group = groupName(nextHop);
    const target = (group ? this.#groups.get(group) : this.#agents.get(nextHop)) ?? { address: nextHop };
    this.#targets.set(nextHop, target);
    return target;
  }
}

/** The name in `SAG:name`; undefined when the next hop is no group. */
export function groupName(nextHop: string): string | undefined {
  return /^sag:/i.test(nextHop) ? nextHop.slice(4) : undefined;
}

function buildGroups(
  groups: readonly GroupParams[],
  agent: (name: string) => SessionAgent | undefined,
): Map<string, Group> {
  const byName = new Map(groups.map((params) => [params["group-name"], new Group(params)]));
  for (const group of byName.values()) {
    const members = group.params.dest.map((name) => {
      const nested = groupName(name);
      return nested ? byName.get(nested) : (agent(name) ?? byName.get(name));
    });
    group.adopt(members.filter((member) => member !== undefined));
  }
  return byName;
}
