import { defaultsOf } from "../params.ts";
import { Pattern } from "../routing/pattern.ts";
import {
  fieldsOf,
  type NumberField,
  type NumberRule,
  numberRuleParams,
  type TranslationParams,
} from "../routing/translation-params.ts";
import type { Problems } from "./problems.ts";
import { asMap, eachItem, placeOf, readName, readTable, refuseUnknownKeys, withDefaults } from "./read-map.ts";
import { oneOf } from "./read-param.ts";
import { childPath, type MapNode } from "./source-node.ts";

const defaults = defaultsOf(numberRuleParams);
const fields = Object.keys(numberRuleParams).filter((name) => name !== "type") as NumberField[];
const prefixFields = ["match", "country-code", "national-prefix", "international-prefix"] as const;

/** The section `translation-rules`: what is done to numbers, by the id that agents and realms name. */
export function readTranslations(root: MapNode, problems: Problems): TranslationParams[] {
  const translations: TranslationParams[] = [];
  for (const [node, path] of eachItem(root, "translation-rules", "", problems)) {
    const map = asMap(node, path, problems);
    if (!map) continue;
    refuseUnknownKeys(map, path, ["id", "called", "calling"], problems);
    const id = readName(map, "id", path, problems);
    const called = readRules(map, "called", path, problems);
    const calling = readRules(map, "calling", path, problems);
    const place = { line: map.line, path: childPath(path, "id") };
    if (translations.some((other) => other.id === id)) problems.error(place, `found "${id}" a second time`);
    if (called.length + calling.length === 0) problems.warning({ ...place, path }, "there are no rules in it");
    if (id !== undefined) translations.push({ id, called, calling });
  }
  return translations;
}

function readRules(map: MapNode, key: "called" | "calling", path: string, problems: Problems): NumberRule[] {
  const rules: NumberRule[] = [];
  for (const [node, itemPath] of eachItem(map, key, path, problems)) {
    const item = asMap(node, itemPath, problems);
    if (!item) continue;
    refuseUnknownKeys(item, itemPath, Object.keys(numberRuleParams), problems);
    const set = readTable(item, itemPath, numberRuleParams, problems);
    const rule = withDefaults<typeof numberRuleParams>(defaults, set);
    if (!item.entries.has("type")) {
      problems.error(
        placeOf(item, itemPath, "type"),
        `found nothing, expected ${oneOf(numberRuleParams.type.choices)}`,
      );
    } else if (set.has("type")) {
      checkRule(rule, set, (name, text) => problems.error(placeOf(item, itemPath, name), text));
      rules.push(rule);
    }
  }
  return rules;
}

function checkRule(rule: NumberRule, set: ReadonlyMap<string, unknown>, refuse: (name: string, text: string) => void) {
  const { oneOf: needed, optional } = fieldsOf[rule.type];
  const given = needed.filter((name) => set.has(name) && rule[name] !== "" && rule[name] !== 0);
  if (given.length !== 1) {
    const found = given.length === 0 ? "nothing" : given.join(" and ");
    refuse(needed[0] ?? "type", `found ${found}, expected ${oneOf(needed)} for a rule of type ${rule.type}`);
  }
  for (const name of fields) {
    if (set.has(name) && !needed.includes(name) && !optional.includes(name)) {
      refuse(name, `not used by a rule of type ${rule.type}`);
    }
  }
  for (const name of prefixFields) {
    if (!/^\+?[0-9*#]*$/.test(rule[name])) refuse(name, `found "${rule[name]}", expected digits`);
  }
  if (rule.type !== "regex" && !/^\+?[0-9*#]*$/.test(rule.value))
    refuse("value", `found "${rule.value}", expected digits`);
  if (rule.type === "regex") checkPattern(rule, refuse);
}

/** Of a rule with a pattern and what is put instead of its match. */
export function checkPattern(
  { pattern, value }: { readonly pattern: string; readonly value: string },
  refuse: (name: string, text: string) => void,
): void {
  const parsed = Pattern.parse(pattern);
  if (!(parsed instanceof Pattern)) {
    refuse("pattern", `found "${pattern}", expected a regular expression in RE2 syntax: ${parsed.error}`);
    return;
  }
  const fault = parsed.faultOf(value);
  if (fault !== undefined) refuse("value", `found "${value}", which ${fault}`);
}
