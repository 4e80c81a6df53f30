import { AgentEvents } from "../../src/agents/agent-events.ts";
import { AgentManager } from "../../src/agents/agent-manager.ts";
import type { AgentParams } from "../../src/agents/params.ts";
import type { SessionAgent } from "../../src/agents/session-agent.ts";
import { defaultsOf } from "../../src/params.ts";
import type { Explanation } from "../../src/routing/explanation.ts";
import {
  type FailoverParams,
  failoverParams,
  type GroupParams,
  groupParams,
  type PolicyParams,
} from "../../src/routing/params.ts";
import type { RouteRequest } from "../../src/routing/policy-table.ts";
import type { RoutePlan, Selection } from "../../src/routing/route-plan.ts";
import { Router, type RoutingConfig } from "../../src/routing/router.ts";
import { agentWith } from "./agents.ts";
import { ManualClock } from "./manual-clock.ts";

export const groupWith = (name: string, dest: string[], more: Partial<GroupParams> = {}): GroupParams => ({
  ...defaultsOf(groupParams),
  failover: {},
  ...more,
  "group-name": name,
  dest,
});

export const policyWith = (
  to: string | readonly string[],
  nextHop: string,
  {
    cost = 0,
    carriers,
    ...more
  }: Partial<PolicyParams> & { readonly cost?: number; readonly carriers?: readonly string[] } = {},
): PolicyParams => ({
  "from-address": ["*"],
  "to-address": typeof to === "string" ? [to] : to,
  "source-realm": ["*"],
  methods: [],
  "policy-attributes": [{ "next-hop": nextHop, cost, ...(carriers && { carriers }) }],
  ...more,
});

export interface RoutingOptions extends Partial<Omit<RoutingConfig, "failover">> {
  /** Of agents a, b, c, …, at 127.0.0.11 and following. */
  readonly agents: readonly Partial<AgentParams>[];
  readonly failover?: Partial<FailoverParams>;
}

export const where = (selection: Selection): string =>
  selection.kind === "agent"
    ? selection.agent.hostname
    : selection.kind === "address"
      ? selection.address
      : selection.cause;

/** A router over agents in virtual time; without policies everything goes to the first group. */
export class RoutingBench {
  readonly clock = new ManualClock(60_000);
  readonly agents: AgentManager;
  readonly router: Router;

  constructor({ agents, groups = [], policies, failover, ...rest }: RoutingOptions) {
    const params = agents.map((each, at) =>
      agentWith({ hostname: "abcdefgh"[at] ?? `z${at}`, "ip-address": `127.0.0.${11 + at}`, ...each }),
    );
    this.agents = new AgentManager(params, { clock: this.clock, random: () => 0.5, events: new AgentEvents() });
    this.router = new Router(
      {
        groups,
        policies: policies ?? [policyWith("*", `SAG:${groups[0]?.["group-name"]}`)],
        failover: { ...defaultsOf(failoverParams), ...failover },
        ...rest,
      },
      this.agents,
    );
  }

  agent(name: string): SessionAgent {
    const found = this.agents.get(name);
    if (!found) throw new Error(`no agent ${name}`);
    return found;
  }

  request(more: Partial<RouteRequest> = {}): RouteRequest {
    return {
      method: "INVITE",
      from: "33",
      fromHost: "caller.example",
      to: "44",
      toHost: "weir.example",
      sourceRealm: "default",
      at: this.clock.date(),
      ...more,
    };
  }

  plan(more?: Partial<RouteRequest>): RoutePlan {
    return this.router.plan(this.request(more));
  }

  explain(more?: Partial<RouteRequest>): Explanation {
    return this.router.explain(this.request(more), this.clock.dateOffset);
  }

  /** Where a call goes that is answered and stays up. */
  call(more?: Partial<RouteRequest>): string {
    return where(this.plan(more).next());
  }

  /** Where each attempt of one call goes when each fails like this: with a status, or with none. */
  attempts(status: number | undefined, plan = this.plan()): string[] {
    const names: string[] = [];
    for (;;) {
      const selection = plan.next();
      names.push(where(selection));
      if (selection.kind === "exhausted") return names;
      if (selection.kind === "agent") selection.lease.release("rejected");
      if (!plan.failed(status)) return names;
    }
  }
}
