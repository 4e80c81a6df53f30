import type { Problems } from "./problems.ts";
import { asMap, readTable, refuseUnknownKeys } from "./read-map.ts";
import type { SystemParams } from "./read-param.ts";
import { childPath, type MapNode } from "./source-node.ts";

/** What may be mapped: the situations of SEMANTICS.md section 7 in which a caller is refused by Weir itself. */
export const localResponseNames = [
  "no-route",
  "translation-failed",
  "next-hop-sa-oos",
  "next-hop-sa-exc-constraints",
  "recv-sa-exc-constraints",
  "unknown-source",
  "source-rate",
  "too-many-hops",
  "loop",
  "cpu-overload",
  "draining",
] as const;

export type LocalResponseName = (typeof localResponseNames)[number];

export const localResponseParams = {
  status: {
    format: "number",
    unit: "count",
    default: 0,
    min: 0,
    max: 699,
    doc: "Response code, 400 to 699; for unknown-source and source-rate also 0, which is silence.",
  },
  reason: {
    format: "text",
    default: "",
    doc: "Reason phrase, printable ASCII. Left out beside a status, it is the phrase registered for that.",
  },
  "q850-cause": {
    format: "number",
    unit: "count",
    default: 0,
    min: 1,
    max: 127,
    doc: "Adds `Reason: Q.850;cause=…` (RFC 3326), for callers on the telephone network.",
  },
} as const satisfies SystemParams;

/** What a name is mapped to; what is left out stays as it is without a map. */
export interface MappedResponse {
  readonly status?: number;
  readonly reason?: string;
  readonly "q850-cause"?: number;
}

export type LocalResponseMap = Readonly<Partial<Record<LocalResponseName, MappedResponse>>>;

/** Text that is safe in a start line. */
const printable = /^[\x20-\x7e]+$/;

export function readLocalResponses(root: MapNode, problems: Problems): LocalResponseMap {
  const section = "local-response-map";
  const node = root.entries.get(section)?.value;
  const map = node && asMap(node, section, problems);
  if (!map) return {};
  refuseUnknownKeys(map, section, localResponseNames, problems);
  const mapped: Partial<Record<LocalResponseName, MappedResponse>> = {};
  for (const name of localResponseNames) {
    const entry = map.entries.get(name);
    const response = entry && asMap(entry.value, `${section}.${name}`, problems);
    if (response) mapped[name] = readResponse(response, name, `${section}.${name}`, problems);
  }
  return mapped;
}

function readResponse(map: MapNode, name: LocalResponseName, path: string, problems: Problems): MappedResponse {
  refuseUnknownKeys(map, path, Object.keys(localResponseParams), problems);
  const response: MappedResponse = Object.fromEntries(readTable(map, path, localResponseParams, problems));
  const complain = (key: keyof MappedResponse, text: string): void => {
    problems.error({ line: map.entries.get(key)?.line ?? map.line, path: childPath(path, key) }, text);
  };
  const { status, reason } = response;
  const maySilence = name === "unknown-source" || name === "source-rate";
  const silent = status === 0 && maySilence;
  if (status !== undefined && status < 400 && !silent) {
    complain("status", `found ${status}, expected ${maySilence ? "0 or " : ""}400 to 699`);
  }
  if (reason !== undefined && !printable.test(reason)) {
    complain("reason", `found ${JSON.stringify(reason)}, expected printable ASCII`);
  }
  return response;
}
