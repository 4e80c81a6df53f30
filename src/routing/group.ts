import type { SessionAgent } from "../agents/session-agent.ts";
import type { Search } from "./candidate.ts";
import type { Member, Nest } from "./member.ts";
import type { FailoverParams, GroupParams } from "./params.ts";
import { choosers, type Memory, newMemory } from "./strategies.ts";

/** A session-agent group: its members in order, and the memory of its strategy (SEMANTICS.md section 5). */
export class Group implements Nest {
  readonly name: string;
  readonly params: GroupParams;
  readonly memory: Memory = newMemory();
  readonly #members: (SessionAgent | Group)[] = [];
  /** The group's own maximum of attempts within it. */
  readonly maxAttempts: number | undefined;
  readonly #setsFailover: boolean;

  constructor(params: GroupParams) {
    this.name = params["group-name"];
    this.params = params;
    this.maxAttempts = params.failover["max-attempts"] || undefined;
    this.#setsFailover = Object.keys(params.failover).length > 0;
  }

  /** Members in order of configuration. Set once, when all groups exist, as groups may name each other. */
  get members(): readonly (SessionAgent | Group)[] {
    return this.#members;
  }

  adopt(members: readonly (SessionAgent | Group)[]): void {
    this.#members.push(...members);
  }

  /** What the group sets itself over the parameters around it. */
  failoverOver(outer: FailoverParams): FailoverParams {
    return this.#setsFailover ? { ...outer, ...this.params.failover } : outer;
  }

  /**
   * The next agent for this search by the group's strategy. `path` holds, outermost first, the nested groups that this
   * search is inside of; it is changed as nested groups are entered and used up.
   */
  next(search: Search, path: Group[], depth = 0): SessionAgent | undefined {
    const inside = path[depth];
    if (inside) {
      const agent = search.left(inside) ? undefined : inside.next(search, path, depth + 1);
      if (agent) return agent;
      path.length = depth;
    }
    const choose = choosers[this.params.strategy];
    const member = choose(this.#members, (each) => hasEligible(each, search), search.memoryOf(this));
    if (!(member instanceof Group)) return member as SessionAgent | undefined;
    path[depth] = member;
    return member.next(search, path, depth + 1);
  }
}

function hasEligible(member: Member, search: Search): boolean {
  if (!(member instanceof Group)) return search.eligible(member as SessionAgent);
  return !search.left(member) && member.members.some((each) => hasEligible(each, search));
}
