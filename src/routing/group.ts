import type { SessionAgent } from "../agents/session-agent.ts";
import type { Search } from "./candidate.ts";
import { isNest, type Member, type Nest } from "./member.ts";
import type { GroupParams } from "./params.ts";
import { type Chooser, chooserFor } from "./strategies.ts";

/** A session-agent group: its members in order, and the memory of its strategy (SEMANTICS.md section 5). */
export class Group implements Nest {
  readonly name: string;
  readonly params: GroupParams;
  readonly #members: Member[] = [];
  readonly #choose: Chooser;

  constructor(params: GroupParams) {
    this.name = params["group-name"];
    this.params = params;
    this.#choose = chooserFor(params.strategy);
  }

  /** Members in order of configuration. Set once, when all groups exist, as groups may name each other. */
  get members(): readonly Member[] {
    return this.#members;
  }

  adopt(members: readonly Member[]): void {
    this.#members.push(...members);
  }

  /**
   * The next agent for this search by the group's strategy. `path` holds, outermost first, the nested groups that this
   * search is inside of; it is changed as nested groups are entered and used up.
   */
  next(search: Search, path: Group[], depth = 0): SessionAgent | undefined {
    const inside = path[depth];
    if (inside) {
      const agent = inside.next(search, path, depth + 1);
      if (agent) return agent;
      path.length = depth;
    }
    const member = this.#choose(this.#members, (each) => hasEligible(each, search));
    if (!(member instanceof Group)) return member as SessionAgent | undefined;
    path[depth] = member;
    return member.next(search, path, depth + 1);
  }
}

function hasEligible(member: Member, search: Search): boolean {
  return isNest(member) ? member.members.some((each) => hasEligible(each, search)) : search.eligible(member);
}
