import { Composer, type CST, isAlias, isMap, isScalar, isSeq, type Node, type Pair, Parser } from "yaml";
import { mayHoldSecret } from "./misplaced-secrets.ts";
import { type Remainder, setPlainItemsAside } from "./plain-items.ts";
import type { Place, Problems } from "./problems.ts";
import { childPath, describe, type ListNode, type MapEntry, nothing, type SourceNode } from "./source-node.ts";

/**
 * Deeper than this is no configuration. The YAML library composes nodes by recursion, and a process whose stack is used
 * up may die of more than an exception, so the depth is measured before.
 */
const maximumDepth = 100;

/** YAML text as nodes that know their lines; undefined (with the errors noted) when it is not well-formed YAML. */
export function parseYaml(
  whole: string,
  problems: Problems,
  remainder = setPlainItemsAside(whole),
): SourceNode | undefined {
  const { text } = remainder;
  const tokens = withoutFollowers([...new Parser().parse(text)]);
  const deep = tooDeep(tokens);
  if (deep) {
    const place = { line: remainder.lineAt(deep.offset), path: "" };
    problems.error(place, `found more than ${maximumDepth} levels, expected a handful`);
    return undefined;
  }
  const [document, second] = new Composer({ uniqueKeys: false }).compose(tokens, true, text.length);
  for (const fault of [...(document?.errors ?? []), ...(document?.warnings ?? [])]) {
    problems.error(
      { line: remainder.lineAt(fault.pos[0]), path: "" },
      `not valid YAML: ${withoutCitation(fault.message)}`,
    );
  }
  if (second) {
    problems.error({ line: remainder.lineAt(second.range[0]), path: "" }, "found a second document, expected one");
  }
  if (problems.errors.length > 0) return undefined;
  return new Converter(remainder, problems).convert(document?.contents ?? null, "");
}

/** The library's message without the text that it cites, which may be a secret, save a single sign such as a bracket. */
const withoutCitation = (message: string): string =>
  message.replace(/: (?!"[^\w]"$).*$/s, "").replace(/(escape sequence|directive) .*$/s, "$1");

/** Where something does not fit, every token after it does not either: only the first is told. */
function withoutFollowers(tokens: readonly CST.Token[]): CST.Token[] {
  const first = tokens.findIndex(({ type }) => type === "error");
  return tokens.filter(({ type }, at) => type !== "error" || at === first);
}

/** The first token below the maximum depth. Without recursion, as that is what it protects from. */
function tooDeep(tokens: readonly CST.Token[]): CST.Token | undefined {
  const pending = [...tokens];
  const depths = pending.map(() => 0);
  for (let token = pending.pop(); token; token = pending.pop()) {
    const depth = depths.pop() ?? 0;
    if (depth > maximumDepth) return token;
    const add = (child: CST.Token | null | undefined): void => {
      if (!child) return;
      pending.push(child);
      depths.push(depth + 1);
    };
    if (token.type === "document") add(token.value);
    else if ("items" in token) {
      for (const { key, value } of token.items) {
        add(key);
        add(value);
      }
    }
  }
  return undefined;
}

type ItemsInPart = Iterable<SourceNode> & { readonly length: number };

/** Items of a list one part after the other. */
class Chain implements Iterable<SourceNode> {
  readonly #parts: readonly ItemsInPart[];

  constructor(parts: readonly ItemsInPart[]) {
    this.#parts = parts;
  }

  *[Symbol.iterator](): Iterator<SourceNode> {
    for (const part of this.#parts) yield* part;
  }
}

class Converter {
  /** An anchored node is converted once and shared, so that aliases of aliases cost nothing ("billion laughs"). */
  readonly #anchors = new Map<string, SourceNode>();
  readonly #remainder: Remainder;
  readonly #problems: Problems;

  constructor(remainder: Remainder, problems: Problems) {
    this.#remainder = remainder;
    this.#problems = problems;
  }

  convert(node: Node | null, path: string, keyLine = 1): SourceNode {
    const line = node?.range ? this.#remainder.lineAt(node.range[0]) : keyLine;
    if (isAlias(node)) return this.#alias(node.source, { line, path });
    const converted = this.#node(node, path, line);
    if ((isScalar(node) || isMap(node) || isSeq(node)) && node.anchor !== undefined) {
      this.#anchors.set(node.anchor, converted);
    }
    return converted;
  }

  #node(node: Node | null, path: string, line: number): SourceNode {
    if (isMap<Node, Node | null>(node)) return { kind: "map", line, entries: this.#entries(node.items, path) };
    if (isSeq<Node>(node)) return this.#list(node.items, path, line);
    if (!isScalar(node)) return nothing(line);
    const { value } = node;
    if (typeof value === "string") return { kind: "scalar", line, value, text: value };
    if (typeof value === "number" || typeof value === "boolean") {
      return { kind: "scalar", line, value, text: node.source ?? String(value) };
    }
    return nothing(line);
  }

  #list(nodes: readonly Node[], path: string, line: number): ListNode {
    const parts: ItemsInPart[] = [];
    let length = 0;
    for (const node of nodes) {
      const aside = node.range ? this.#remainder.standsFor(node.range[0]) : undefined;
      const part = aside ?? [this.convert(node, `${path}[${length}]`, line)];
      parts.push(part);
      length += part.length;
    }
    return { kind: "list", line, length, items: new Chain(parts) };
  }

  /** An anchor is known only once its node is complete, so that a node inside itself is no alias but an error. */
  #alias(name: string, place: Place): SourceNode {
    const target = this.#anchors.get(name);
    if (target) return target;
    const found = mayHoldSecret(place.path) ? "an alias" : `*${name}`;
    this.#problems.error(place, `found ${found}, expected the name of an anchor that is complete before it`);
    return nothing(place.line);
  }

  #entries(pairs: readonly Pair<Node, Node | null>[], path: string): Map<string, MapEntry> {
    const own = new Map<string, MapEntry>();
    const merged: SourceNode[] = [];
    for (const { key, value } of pairs) {
      const line = key.range ? this.#remainder.lineAt(key.range[0]) : 1;
      const name = this.#key(key, { line, path });
      if (name === undefined) continue;
      const entry = { line, value: this.convert(value, childPath(path, name), line) };
      if (name === "<<") {
        merged.push(...(entry.value.kind === "list" ? entry.value.items : [entry.value]));
        continue;
      }
      const first = own.get(name);
      if (first) {
        this.#problems.error(
          { line, path: childPath(path, name) },
          `found the key a second time, expected it once (first on line ${first.line})`,
        );
      } else own.set(name, entry);
    }
    return this.#merge(own, merged, path);
  }

  #key(key: Node, place: Place): string | undefined {
    if (isScalar(key)) return typeof key.value === "string" ? key.value : (key.source ?? String(key.value));
    this.#problems.error(place, "found a list or a map as a key, expected a name");
    return undefined;
  }

  /** Merge keys (`<<: *anchor`): what is written out wins over what is merged, the first merged over the later. */
  #merge(own: Map<string, MapEntry>, merged: readonly SourceNode[], path: string): Map<string, MapEntry> {
    for (const source of merged) {
      if (source.kind !== "map") {
        this.#problems.error({ line: source.line, path }, `found ${describe(source)} under <<, expected a map`);
        continue;
      }
      for (const [name, entry] of source.entries) if (!own.has(name)) own.set(name, entry);
    }
    return own;
  }
}
