import type { Problems } from "./problems.ts";
import { didYouMean } from "./suggest.ts";
import { describe, type MapNode, type SourceNode } from "./yaml-source.ts";

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
    for (const [at, item] of itemsOf(root.entries.get(list)?.value).entries()) {
      if (item.kind !== "map") continue;
      for (const [key, section] of Object.entries(referring)) {
        const node = item.entries.get(key)?.value;
        if (!node || (node.kind === "scalar" && (node.text === "" || ids[section].includes(node.text)))) continue;
        const near = node.kind === "scalar" ? didYouMean(node.text, ids[section]) : "";
        const place = { line: node.line, path: `${list}[${at}].${key}` };
        problems.error(place, `found ${describe(node)}, expected the id of one of the ${section}${near}`);
      }
    }
  }
}

const itemsOf = (node: SourceNode | undefined): readonly SourceNode[] => (node?.kind === "list" ? node.items : []);
