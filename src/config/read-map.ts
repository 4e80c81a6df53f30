import type { Params, ValuesOf } from "../params.ts";
import type { Place, Problems } from "./problems.ts";
import { expectation, readParam, type SystemParam, type SystemParams, takesList } from "./read-param.ts";
import { didYouMean } from "./suggest.ts";
import { childPath, describe, type ListNode, type MapNode, type SourceNode } from "./yaml-source.ts";

/** Says which keys of a map are unknown, with the nearest known one. */
export function refuseUnknownKeys(map: MapNode, path: string, known: readonly string[], problems: Problems): void {
  for (const [key, entry] of map.entries) {
    if (known.includes(key)) continue;
    problems.error({ line: entry.line, path: childPath(path, key) }, `unknown key${didYouMean(key, known)}`);
  }
}

/** The parameters of the table that the map sets, checked; errors are noted and their parameters left out. */
export function readTable(map: MapNode, path: string, table: SystemParams, problems: Problems): Map<string, unknown> {
  const values = new Map<string, unknown>();
  for (const [name, param] of Object.entries(table)) {
    const entry = map.entries.get(name);
    if (!entry) continue;
    const reading = readParam(param, entry.value);
    if ("value" in reading) values.set(name, reading.value);
    else refuse(param, entry.value, childPath(path, name), problems);
  }
  return values;
}

/** Notes what does not fit: the items of a list that would not do alone, else the whole. */
function refuse(param: SystemParam, node: SourceNode, path: string, problems: Problems): void {
  const culprits = node.kind === "list" && takesList(param) ? numbered(node, path) : [[node, path] as const];
  for (const [culprit, itsPath] of culprits) {
    if (culprit.kind === "scalar" && "value" in readParam(param, culprit)) continue;
    const message = `found ${describe(culprit)}, expected ${expectation(param)}${near(param, culprit)}`;
    problems.error({ line: culprit.line, path: itsPath }, message);
  }
}

/** The same with the defaults of whatever is not set. */
export function withDefaults<T extends Params>(defaults: ValuesOf<T>, set: ReadonlyMap<string, unknown>): ValuesOf<T> {
  return { ...defaults, ...Object.fromEntries(set) };
}

const near = (param: SystemParam, node: SourceNode): string =>
  param.format === "choice" && node.kind === "scalar" ? didYouMean(node.text, param.choices) : "";

/** The map at a place; undefined, with the error noted, when something else stands there. */
export function asMap(node: SourceNode, path: string, problems: Problems): MapNode | undefined {
  if (node.kind === "map") return node;
  problems.error({ line: node.line, path }, `found ${describe(node)}, expected a map`);
  return undefined;
}

/** Each item of a list with its path. A missing list has no items. */
export function eachItem(map: MapNode, key: string, path: string, problems: Problems): [SourceNode, string][] {
  const node = map.entries.get(key)?.value;
  if (!node) return [];
  const here = childPath(path, key);
  if (node.kind === "list") return numbered(node, here);
  problems.error({ line: node.line, path: here }, `found ${describe(node)}, expected a list`);
  return [];
}

const numbered = (list: ListNode, path: string): [SourceNode, string][] =>
  list.items.map((item, at) => [item, `${path}[${at}]`]);

/** A name: text without white space. Undefined, with the error noted, when it is missing or no name. */
export function readName(
  map: MapNode,
  key: string,
  path: string,
  problems: Problems,
  name = /^[^\s"<>,;]+$/,
): string | undefined {
  const node = map.entries.get(key)?.value;
  if (node?.kind === "scalar" && node.value !== null && name.test(node.text)) return node.text;
  const place: Place = { line: node?.line ?? map.line, path: childPath(path, key) };
  problems.error(place, `found ${node ? describe(node) : "nothing"}, expected a name`);
  return undefined;
}

export interface PlacedText {
  readonly text: string;
  readonly place: Place;
}

/** Texts with their places, from a list or a single text. */
export function readTexts(map: MapNode, key: string, path: string, problems: Problems): PlacedText[] {
  const found = map.entries.get(key)?.value;
  if (!found) return [];
  const here = childPath(path, key);
  const items: [SourceNode, string][] = found.kind === "list" ? numbered(found, here) : [[found, here]];
  const texts: PlacedText[] = [];
  for (const [node, itemPath] of items) {
    const place = { line: node.line, path: itemPath };
    if (node.kind === "scalar" && node.value !== null && node.text.trim() !== "") {
      texts.push({ text: node.text.trim(), place });
    } else problems.error(place, `found ${describe(node)}, expected a text`);
  }
  return texts;
}
