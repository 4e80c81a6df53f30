import type { Param } from "../params.ts";
import { normalCarrier, parsePattern } from "../routing/address.ts";
import type { PolicyAttribute, PolicyParams } from "../routing/params.ts";
import { routedMethods } from "../routing/routed-methods.ts";
import { readPolicyTime } from "./policy-time.ts";
import type { Place, Problems } from "./problems.ts";
import { placeOf, readMaps, readName, readTable, readTexts, refuseUnknownKeys } from "./read-map.ts";
import type { Names } from "./references.ts";
import { childPath, type MapNode } from "./source-node.ts";

export const policyAttributeParams = {
  cost: { format: "number", unit: "cost", default: 0, min: 0, max: 1_000_000, doc: "Lower is preferred." },
} as const satisfies Record<string, Param>;

const policyKeys = ["from-address", "to-address", "source-realm", "methods", "time", "policy-attributes"];

const hopKeys = ["next-hop", "carriers", ...Object.keys(policyAttributeParams)];

/** A name as others are, or an address, which may say its transport. */
const nextHop = /^[^\s"<>,]+$/;

/** Shared by all policies that say nothing of whom they are for. */
const any: readonly string[] = ["*"];

/** What reads a policy, beside its map: where that stands, what it may name and where to complain. */
interface Context {
  readonly path: string;
  readonly names: Names;
  readonly problems: Problems;
}

/** One after the other with all that they refer to, so that nothing else is kept of a hundred thousand. */
export function readPolicies(root: MapNode, names: Names, problems: Problems): PolicyParams[] {
  const list = { map: root, key: "local-policies", path: "", problems };
  return readMaps(list, (map, path) => readPolicy(map, { path, names, problems }));
}

function readPolicy(map: MapNode, context: Context): PolicyParams {
  const { path, names, problems } = context;
  refuseUnknownKeys(map, path, policyKeys, problems);
  const time = readPolicyTime(map, path, problems);
  const policy = {
    "from-address": readAddresses(map, "from-address", context),
    "to-address": readAddresses(map, "to-address", context),
    methods: readMethods(map, context),
    "source-realm": anyUnlessSet(map, "source-realm", context, (text, place) => {
      if (text !== "*") names.checkRealm(text, place);
      return text;
    }),
    "policy-attributes": readHops(map, context),
  };
  return time ? { ...policy, time } : policy;
}

function anyUnlessSet(
  map: MapNode,
  key: string,
  { path, problems }: Context,
  read: (text: string, place: () => Place) => string,
): readonly string[] {
  if (!map.entries.has(key)) return any;
  const texts = readTexts({ map, key, path, problems }, read);
  if (texts.length === 0) {
    problems.error(
      { line: map.line, path: childPath(path, key) },
      'found nothing, expected at least one; "*" matches any',
    );
  }
  return texts;
}

function readAddresses(map: MapNode, key: string, context: Context): readonly string[] {
  return anyUnlessSet(map, key, context, (text, place) => {
    const { problems } = context;
    if (!parsePattern(text)) problems.error(place(), `found "${text}", expected a digit prefix, a host, a domain or *`);
    return text;
  });
}

function readMethods(map: MapNode, { path, problems }: Context): string[] {
  return readTexts({ map, key: "methods", path, problems }, (text, place) => {
    const method = text.toUpperCase();
    if (!/^[A-Z]+$/.test(method)) problems.error(place(), `found "${text}", expected a SIP method such as INVITE`);
    else if (!routedMethods.has(method)) {
      problems.warning(place(), `${method} is never routed by a policy, so that the policy does not match by it`);
    }
    return method;
  });
}

function readHops(policy: MapNode, { path, names, problems }: Context): PolicyAttribute[] {
  const key = "policy-attributes";
  const hops = readMaps({ map: policy, key, path, problems }, (map, itemPath) => {
    refuseUnknownKeys(map, itemPath, hopKeys, problems);
    const name = readName(map, "next-hop", itemPath, problems, nextHop);
    const cost = (readTable(map, itemPath, policyAttributeParams, problems).get("cost") ?? 0) as number;
    const list = { map, key: "carriers", path: itemPath, problems };
    const carriers = readTexts(list, normalCarrier);
    if (name === undefined) return undefined;
    const hop = { "next-hop": names.nextHop(name, () => placeOf(map, itemPath, "next-hop")), cost };
    return carriers.length > 0 ? { ...hop, carriers } : hop;
  });
  const list = policy.entries.get(key)?.value;
  if (list === undefined || (list.kind === "list" && list.length === 0)) {
    problems.error({ line: policy.line, path: childPath(path, key) }, "found nothing, expected at least one next-hop");
  }
  return hops;
}
