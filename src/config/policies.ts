import type { Param } from "../params.ts";
import { normalCarrier, parsePattern } from "../routing/address.ts";
import type { PolicyAttribute, PolicyParams } from "../routing/params.ts";
import { readPolicyTime } from "./policy-time.ts";
import type { Problems } from "./problems.ts";
import { asMap, eachItem, type PlacedText, readName, readTable, readTexts, refuseUnknownKeys } from "./read-map.ts";
import { type Placed, placed } from "./session-agents.ts";
import type { MapNode } from "./yaml-source.ts";

/** One policy attribute, and where its next hop is written. */
export type HopSource = Placed<PolicyAttribute>;

/** A policy whose references are still to be resolved. */
export interface PolicySource {
  readonly policy: Omit<PolicyParams, "policy-attributes" | "source-realm">;
  readonly hops: readonly HopSource[];
  readonly realms: readonly PlacedText[];
}

export const policyAttributeParams = {
  cost: { format: "number", unit: "cost", default: 0, min: 0, max: 1_000_000, doc: "Lower is preferred." },
} as const satisfies Record<string, Param>;

/** What policies are asked about: requests that start something. */
const routed = new Set(["INVITE", "REGISTER"]);

const policyKeys = ["from-address", "to-address", "source-realm", "methods", "time", "policy-attributes"];

export function readPolicies(root: MapNode, problems: Problems): PolicySource[] {
  const policies: PolicySource[] = [];
  for (const [node, path] of eachItem(root, "local-policies", "", problems)) {
    const map = asMap(node, path, problems);
    if (!map) continue;
    refuseUnknownKeys(map, path, policyKeys, problems);
    const time = readPolicyTime(map, path, problems);
    const policy = {
      "from-address": readAddresses(map, "from-address", path, problems),
      "to-address": readAddresses(map, "to-address", path, problems),
      methods: readMethods(map, path, problems),
      ...(time ? { time } : {}),
    };
    const realms = anyUnlessSet(map, "source-realm", path, problems);
    policies.push({ policy, hops: readHops(map, path, problems), realms });
  }
  return policies;
}

function anyUnlessSet(map: MapNode, key: string, path: string, problems: Problems): PlacedText[] {
  const place = { line: map.line, path: `${path}.${key}` };
  if (!map.entries.has(key)) return [{ text: "*", place }];
  const texts = readTexts(map, key, path, problems);
  if (texts.length === 0) problems.error(place, 'found nothing, expected at least one; "*" matches any');
  return texts;
}

function readAddresses(map: MapNode, key: string, path: string, problems: Problems): string[] {
  return anyUnlessSet(map, key, path, problems).map(({ text, place }) => {
    if (!parsePattern(text)) problems.error(place, `found "${text}", expected a digit prefix, a host, a domain or *`);
    return text;
  });
}

function readMethods(map: MapNode, path: string, problems: Problems): string[] {
  return readTexts(map, "methods", path, problems).map(({ text, place }) => {
    const method = text.toUpperCase();
    if (!/^[A-Z]+$/.test(method)) problems.error(place, `found "${text}", expected a SIP method such as INVITE`);
    else if (!routed.has(method)) {
      problems.warning(place, `${method} is never routed by a policy, so that the policy does not match by it`);
    }
    return method;
  });
}

function readHops(policy: MapNode, path: string, problems: Problems): HopSource[] {
  const hops: HopSource[] = [];
  const items = eachItem(policy, "policy-attributes", path, problems);
  if (items.length === 0) {
    const place = { line: policy.line, path: `${path}.policy-attributes` };
    problems.error(place, "found nothing, expected at least one next-hop");
  }
  for (const [node, itemPath] of items) {
    const map = asMap(node, itemPath, problems);
    if (!map) continue;
    refuseUnknownKeys(map, itemPath, ["next-hop", "carriers", ...Object.keys(policyAttributeParams)], problems);
    // What it names is looked at once all names are known; a URI may say its transport.
    const nextHop = readName(map, "next-hop", itemPath, problems, /^[^\s"<>,]+$/);
    const cost = (readTable(map, itemPath, policyAttributeParams, problems).get("cost") ?? 0) as number;
    const carriers = readTexts(map, "carriers", itemPath, problems).map(({ text }) => normalCarrier(text));
    if (nextHop === undefined) continue;
    const attribute = { "next-hop": nextHop, cost, ...(carriers.length > 0 && { carriers }) };
    hops.push(placed(attribute, map, itemPath));
  }
  return hops;
}
