import { withoutPassword } from "./misplaced-secrets.ts";

/** A value with its place. `text` is what was typed: `0044` stays `0044` where a text is wanted. */
export interface ScalarNode {
  readonly kind: "scalar";
  readonly line: number;
  readonly value: string | number | boolean | null;
  readonly text: string;
}

export interface ListNode {
  readonly kind: "list";
  readonly line: number;
  readonly length: number;
  /** May be read anew each time, so that a long list is never whole in memory. */
  readonly items: Iterable<SourceNode>;
}

export interface MapNode {
  readonly kind: "map";
  readonly line: number;
  readonly entries: ReadonlyMap<string, MapEntry>;
}

export interface MapEntry {
  /** Of the key. */
  readonly line: number;
  readonly value: SourceNode;
}

export type SourceNode = ScalarNode | ListNode | MapNode;

export const nothing = (line: number): ScalarNode => ({ kind: "scalar", line, value: null, text: "" });

export const childPath = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);

/** What was found, for a message: short, whatever the length of the value, and without the password of a URI. */
export function describe(node: SourceNode): string {
  if (node.kind === "list") return `a list of ${node.length}`;
  if (node.kind === "map") return "a map";
  if (node.value === null) return "nothing";
  const whole = withoutPassword(node.text);
  const text = whole.length > 60 ? `${whole.slice(0, 60)}…` : whole;
  return typeof node.value === "string" ? JSON.stringify(text) : text;
}
