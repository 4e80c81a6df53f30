import { defaultsOf, type Params, type ValuesOf } from "../params.ts";
import type { Problems } from "./problems.ts";
import { asMap, eachItem, placeOf, readName, readTable, refuseUnknownKeys, withDefaults } from "./read-map.ts";
import { childPath, type MapNode } from "./source-node.ts";
import { checkPattern } from "./translation-rules.ts";

export const headerRuleParams = {
  action: {
    format: "choice",
    choices: ["add", "remove", "replace"],
    default: "add",
    doc: "add: one more value. remove: the field goes, where it matches the pattern. replace: the value, or what in it matches the pattern, is replaced; a field that is not there is left so.",
  },
  header: { format: "text", default: "", doc: "Name of the header field; required." },
  value: { format: "text", default: "", doc: "add, replace: the value; `$1` is the first group of the pattern." },
  pattern: { format: "text", default: "", doc: "remove, replace: a regular expression in RE2 syntax." },
  messages: {
    format: "choice",
    choices: ["all", "requests", "responses"],
    default: "all",
    doc: "The messages that it is for.",
  },
} as const satisfies Params;

export type HeaderRule = ValuesOf<typeof headerRuleParams>;

/** Header rules as configured, gone through in order. */
export interface HeaderRuleSet {
  readonly id: string;
  readonly rules: readonly HeaderRule[];
}

/** Fields that make a message belong to its leg: Weir's own, whatever a rule says. Numbers are what translations are for. */
const ofTheLeg = new Set(
  "via from to call-id cseq contact max-forwards route record-route content-length rseq rack v f t i m l".split(" "),
);

const defaults = defaultsOf(headerRuleParams);

/** The section `header-rules`: what is done to header fields, by the id that agents name. */
export function readHeaderRules(root: MapNode, problems: Problems): HeaderRuleSet[] {
  const sets: HeaderRuleSet[] = [];
  for (const [node, path] of eachItem(root, "header-rules", "", problems)) {
    const map = asMap(node, path, problems);
    if (!map) continue;
    refuseUnknownKeys(map, path, ["id", "rules"], problems);
    const id = readName(map, "id", path, problems);
    const rules = readRules(map, path, problems);
    const place = { line: map.line, path: childPath(path, "id") };
    if (sets.some((other) => other.id === id)) problems.error(place, `found "${id}" a second time`);
    if (rules.length === 0) problems.warning({ ...place, path }, "there are no rules in it");
    if (id !== undefined) sets.push({ id, rules });
  }
  return sets;
}

function readRules(map: MapNode, path: string, problems: Problems): HeaderRule[] {
  const rules: HeaderRule[] = [];
  for (const [node, itemPath] of eachItem(map, "rules", path, problems)) {
    const item = asMap(node, itemPath, problems);
    if (!item) continue;
    refuseUnknownKeys(item, itemPath, Object.keys(headerRuleParams), problems);
    const set = readTable(item, itemPath, headerRuleParams, problems);
    const rule = withDefaults<typeof headerRuleParams>(defaults, set);
    const refuse = (name: string, text: string): void => problems.error(placeOf(item, itemPath, name), text);
    if (!item.entries.has("action")) refuse("action", "found nothing, expected add, remove or replace");
    else if (set.has("action")) {
      checkRule(rule, set, refuse);
      rules.push(rule);
    }
  }
  return rules;
}

function checkRule(rule: HeaderRule, set: ReadonlyMap<string, unknown>, refuse: (name: string, text: string) => void) {
  const { action, header, value, pattern } = rule;
  if (!/^[\w!%*+'~.-]+$/.test(header)) refuse("header", `found "${header}", expected the name of a header field`);
  else if (ofTheLeg.has(header.toLowerCase())) {
    refuse("header", `found "${header}", which belongs to the leg and is not open to rules`);
  }
  // What is not printable could end the field and start another.
  if (!/^[\x20-\x7e\x80-\xff]*$/.test(value)) refuse("value", "found characters that no header field may hold");
  if (action !== "remove" && value.trim() === "") refuse("value", `found nothing, expected a value to ${action}`);
  if (action === "remove" && set.has("value")) refuse("value", "not used by a rule that removes");
  if (action === "add" && set.has("pattern")) refuse("pattern", "not used by a rule that adds");
  if (pattern !== "") checkPattern(rule, refuse);
}
