import type { Problems } from "./problems.ts";
import { placedItems } from "./read-map.ts";
import { childPath, describe, type MapNode } from "./source-node.ts";
import { didYouMean } from "./suggest.ts";

const referring = {
  "in-translationid": "translation-rules",
  "out-translationid": "translation-rules",
  "in-header-rules": "header-rules",
  "out-header-rules": "header-rules",
} as const;

type Section = (typeof referring)[keyof typeof referring];

/** Refuses what agents and realms name as rules and is none. */
export function checkRuleReferences(
  root: MapNode,
  ids: Readonly<Record<Section, readonly string[]>>,
  problems: Problems,
): void {
  for (const list of ["realms", "session-agents"]) {
    for (const [item, itemPath] of placedItems(root, list, "")) {
      if (item.kind !== "map") continue;
      for (const [key, section] of Object.entries(referring)) {
        const node = item.entries.get(key)?.value;
        if (!node || (node.kind === "scalar" && (node.text === "" || ids[section].includes(node.text)))) continue;
        const near = node.kind === "scalar" ? didYouMean(node.text, ids[section]) : "";
        const place = { line: node.line, path: childPath(itemPath, key) };
        problems.error(place, `found ${describe(node)}, expected the id of one of the ${section}${near}`);
      }
    }
  }
}
