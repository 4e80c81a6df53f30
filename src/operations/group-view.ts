import type { SessionAgent } from "../agents/session-agent.ts";
import type { Group } from "../routing/group.ts";

export interface GroupView {
  readonly "group-name": string;
  readonly strategy: string;
  /** In order of configuration. */
  readonly members: readonly ({ readonly agent: string; readonly state: string } | { readonly group: string })[];
}

/** The groups as GET /v1/groups shows them. */
export const groupViews = (groups: Iterable<Group>): GroupView[] =>
  Array.from(groups, (group) => ({
    "group-name": group.name,
    strategy: group.params.strategy,
    members: (group.members as readonly (SessionAgent | Group)[]).map((member) =>
      "hostname" in member ? { agent: member.hostname, state: member.letter } : { group: member.name },
    ),
  }));
