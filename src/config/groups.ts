import { defaultsOf } from "../params.ts";
import { type FailoverParams, failoverParams, type GroupParams, groupParams } from "../routing/params.ts";
import type { Place, Problems } from "./problems.ts";
import { asMap, eachItem, readName, readTable, readTexts, refuseUnknownKeys, withDefaults } from "./read-map.ts";
import { type Placed, placed } from "./session-agents.ts";
import type { MapNode } from "./source-node.ts";

export interface PlacedText {
  readonly text: string;
  readonly place: Place;
}

/** A group whose members are still as written. */
export type GroupSource = Placed<Omit<GroupParams, "dest"> & { readonly dest: readonly PlacedText[] }>;

const groupDefaults = defaultsOf(groupParams);
const groupKeys = ["group-name", "dest", ...Object.keys(groupParams), ...Object.keys(failoverParams)];

export function readGroups(root: MapNode, problems: Problems): GroupSource[] {
  const groups: GroupSource[] = [];
  for (const [node, path] of eachItem(root, "session-agent-groups", "", problems)) {
    const map = asMap(node, path, problems);
    if (!map) continue;
    refuseUnknownKeys(map, path, groupKeys, problems);
    const name = readName(map, "group-name", path, problems);
    const values = withDefaults<typeof groupParams>(groupDefaults, readTable(map, path, groupParams, problems));
    const failover: Partial<FailoverParams> = Object.fromEntries(readTable(map, path, failoverParams, problems));
    const dest = readTexts({ map, key: "dest", path, problems }, (text, place) => ({ text, place: place() }));
    const group = placed({ ...values, "group-name": name ?? "", dest, failover }, map, path);
    if (!map.entries.has("dest")) problems.error(group.placeOf("dest"), "found nothing, expected a list of agents");
    else if (dest.length === 0) problems.warning(group.placeOf("dest"), "the group has no members, so it never routes");
    if (name !== undefined) groups.push(group);
  }
  return groups;
}
