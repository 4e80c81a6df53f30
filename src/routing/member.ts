import type { SessionAgent } from "../agents/session-agent.ts";

/** A member of a group as strategies see it: an agent, or a nested group, used up before the next member. */
export type Member = SessionAgent | Nest;

export interface Nest {
  readonly members: readonly Member[];
}

export const isNest = (member: Member): member is Nest => "members" in member;

/** The agents of a member, nested ones included, in order of configuration. */
export function agentsOf(member: Member): readonly SessionAgent[] {
  return isNest(member) ? member.members.flatMap(agentsOf) : [member];
}
