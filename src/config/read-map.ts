import type { Params, ValuesOf } from "../params.ts";
import { carriesPassword, looksSecret, misplacedSecret } from "./misplaced-secrets.ts";
import type { Place, Problems } from "./problems.ts";
import { expectation, readParam, type SystemParam, type SystemParams, takesList } from "./read-param.ts";
import { childPath, describe, type ListNode, type MapNode, type SourceNode } from "./source-node.ts";
import { didYouMean } from "./suggest.ts";

/** Says which keys of a map are unknown, with the nearest known one, or where what may be a secret belongs. */
export function refuseUnknownKeys(map: MapNode, path: string, known: readonly string[], problems: Problems): void {
  for (const [key, entry] of map.entries) {
    if (known.includes(key)) continue;
    const secret = looksSecret(key) && !known.includes("secret");
    const text = secret ? misplacedSecret : `unknown key${didYouMean(key, known)}`;
    problems.error({ line: entry.line, path: childPath(path, key) }, text);
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

type PlacedNode = readonly [node: SourceNode, path: string];

/** Each item of a list with its path. A missing list has no items; what is no list is noted. */
export function eachItem(map: MapNode, key: string, path: string, problems: Problems): Iterable<PlacedNode> {
  const node = map.entries.get(key)?.value;
  if (node && node.kind !== "list") {
    problems.error({ line: node.line, path: childPath(path, key) }, `found ${describe(node)}, expected a list`);
  }
  return placedItems(map, key, path);
}

/** The same without a word on what is no list. */
export function placedItems(map: MapNode, key: string, path: string): Iterable<PlacedNode> {
  const node = map.entries.get(key)?.value;
  return node?.kind === "list" ? numbered(node, childPath(path, key)) : [];
}

function* numbered(list: ListNode, path: string): Iterable<PlacedNode> {
  let at = 0;
  for (const item of list.items) yield [item, `${path}[${at++}]`];
}

/** A name: text without white space or a password. Undefined, with the error noted, when it is missing or no name. */
export function readName(
  map: MapNode,
  key: string,
  path: string,
  problems: Problems,
  name = /^[^\s"<>,;]+$/,
): string | undefined {
  const node = map.entries.get(key)?.value;
  const text = node?.kind === "scalar" && node.value !== null ? node.text : "";
  const open = carriesPassword(text);
  if (name.test(text) && !open) return text;
  const expected = open ? "a name, or a URI without a password" : "a name";
  problems.error(placeOf(map, path, key), `found ${node ? describe(node) : "nothing"}, expected ${expected}`);
  return undefined;
}

/** The value of a key, which need not be there; `path` is that of the map. */
interface ValueOf {
  readonly map: MapNode;
  readonly key: string;
  readonly path: string;
  readonly problems: Problems;
}

/** The maps of a list, each read; what is no map is noted, and what reads as undefined left out. */
export function readMaps<T>(
  { map, key, path, problems }: ValueOf,
  read: (item: MapNode, path: string) => T | undefined,
): T[] {
  const values: T[] = [];
  for (const [node, itemPath] of eachItem(map, key, path, problems)) {
    const item = asMap(node, itemPath, problems);
    const value = item && read(item, itemPath);
    if (value !== undefined) values.push(value);
  }
  return exact(values);
}

/** Texts from a list or a single text, each read. What is no text is noted and left out. */
export function readTexts<T>(
  { map, key, path, problems }: ValueOf,
  read: (text: string, place: () => Place) => T,
): T[] {
  const found = map.entries.get(key)?.value;
  if (!found) return [];
  const values: T[] = [];
  let at = 0;
  for (const node of found.kind === "list" ? found.items : [found]) {
    const index = found.kind === "list" ? `[${at++}]` : "";
    const place = (): Place => ({ line: node.line, path: `${childPath(path, key)}${index}` });
    const text = node.kind === "scalar" && node.value !== null ? node.text.trim() : "";
    if (text !== "") values.push(read(text, place));
    else problems.error(place(), `found ${describe(node)}, expected a text`);
  }
  return exact(values);
}

/** Without the room for more that an array has kept while it grew: there may be hundreds of thousands. */
const exact = <T>(values: readonly T[]): T[] => values.slice();

/** The place of a value, or of the map where its key is not written. */
export function placeOf(map: MapNode, path: string, key: string): Place {
  return { line: map.entries.get(key)?.value.line ?? map.line, path: childPath(path, key) };
}

/** The place of a key below the root by its whole path, or of the nearest thing around it that is written. */
export function placeIn(root: MapNode, path: string): Place {
  let map = root;
  let { line } = root;
  for (const name of path.split(".")) {
    const entry = map.entries.get(name);
    if (!entry) break;
    line = entry.line;
    if (entry.value.kind !== "map") break;
    map = entry.value;
  }
  return { line, path };
}
