import { type Param, parseCodeRange } from "../params.ts";
import { parseHostPort, parseListenAddress, parseNetwork, parseServer } from "./addresses.ts";
import { describe, type ScalarNode, type SourceNode } from "./source-node.ts";

/** Beside the shared parameters: where to listen. */
export type SystemParam =
  | Param
  /** Listening addresses such as `udp://192.0.2.1:5060`, as a list or comma-separated text. */
  | { readonly format: "listen"; readonly default: readonly string[]; readonly doc: string }
  /** DNS servers such as `192.0.2.53` or `[2001:db8::53]:5353`, as a list or comma-separated text. */
  | { readonly format: "servers"; readonly default: readonly string[]; readonly doc: string }
  /** Networks such as `192.0.2.0/24`, or single addresses, as a list or comma-separated text. */
  | { readonly format: "networks"; readonly default: readonly string[]; readonly doc: string }
  /** Texts, as a list or comma-separated. */
  | { readonly format: "texts"; readonly default: readonly string[]; readonly doc: string }
  /** One address with a port, such as `127.0.0.1:8080`. */
  | { readonly format: "address"; readonly default: string; readonly doc: string };

export type SystemParams = Readonly<Record<string, SystemParam>>;

/** A value, or what was expected instead of what was found. */
export type Reading = { readonly value: unknown } | { readonly found: string; readonly expected: string };

/** Whether a parameter is a list of parts that each could stand alone. */
export const takesList = ({ format }: SystemParam): boolean => lists.has(format);

const lists: ReadonlySet<string> = new Set(["codes", "listen", "servers", "networks", "texts"]);

/** What a parameter takes, in words: for messages and for the documentation. */
export function expectation(param: SystemParam): string {
  switch (param.format) {
    case "number":
      return `a ${param.fraction ? "number" : "whole number"} ${param.min} to ${param.max}`;
    case "text":
      return "a text";
    case "switch":
      return "enabled or disabled";
    case "choice":
      return oneOf(param.choices);
    case "codes":
      return "response codes 100 to 699 or ranges such as 500-599";
    case "listen":
      return "addresses such as udp://192.0.2.1:5060, tcp://[2001:db8::1]:5060 or tls://192.0.2.1:5061";
    case "servers":
      return "numeric addresses, with a port where it is not 53, such as 192.0.2.53 or [2001:db8::53]:5353";
    case "networks":
      return "networks or addresses such as 192.0.2.0/24 or 2001:db8::1";
    case "texts":
      return "texts";
    case "address":
      return "an address and port such as 127.0.0.1:8080";
  }
}

/** `a`, `a or b`, `a, b or c`. */
export function oneOf(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} or ${last}`;
}

/** Reads one parameter's value from its node. */
export function readParam(param: SystemParam, node: SourceNode): Reading {
  const value = parse(param, node);
  return value === undefined ? { found: describe(node), expected: expectation(param) } : { value };
}

function parse(param: SystemParam, node: SourceNode): unknown {
  switch (param.format) {
    case "codes":
      return everyPart(node, parseCodeRange);
    case "listen":
      return everyPart(node, parseListenAddress);
    case "servers":
      return everyPart(node, parseServer);
    case "networks":
      return everyPart(node, parseNetwork);
    case "texts":
      return everyPart(node, (part) => part.trim() || undefined);
    default:
      return node.kind === "scalar" && node.value !== null ? scalarOf(param, node) : undefined;
  }
}

function scalarOf(
  param: Exclude<SystemParam, { format: "codes" | "listen" | "servers" | "networks" | "texts" }>,
  node: ScalarNode,
): unknown {
  switch (param.format) {
    case "number": {
      const { value } = node;
      const fits = typeof value === "number" && value >= param.min && value <= param.max;
      return fits && (param.fraction || Number.isInteger(value)) ? value : undefined;
    }
    case "text":
      return node.text;
    case "switch":
      return node.text === "enabled" || node.text === "disabled" ? node.text : undefined;
    case "choice":
      return param.choices.find((choice) => choice.toLowerCase() === node.text.toLowerCase());
    case "address":
      return parseHostPort(node.text);
  }
}

/** Every part of a list, or of comma-separated text, parsed; undefined when one of them cannot be. */
function everyPart<T extends object | string>(
  node: SourceNode,
  parsePart: (part: string) => T | undefined,
): readonly T[] | undefined {
  const parts = partsOf(node);
  const values = parts?.map((part) => parsePart(part)).filter((value) => value !== undefined);
  return values?.length === parts?.length ? values : undefined;
}

function partsOf(node: SourceNode): string[] | undefined {
  if (node.kind === "map") return undefined;
  if (node.kind === "scalar") {
    if (node.value === null) return undefined;
    return node.text.trim() === "" ? [] : node.text.split(",");
  }
  const texts = Array.from(node.items, (item) =>
    item.kind === "scalar" && item.value !== null ? item.text : undefined,
  );
  return texts.every((text) => text !== undefined) ? texts : undefined;
}
