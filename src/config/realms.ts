import type { ListenAddress, RealmConfig, SourceConfig } from "./config.ts";
import type { Listener } from "./listening.ts";
import type { Place, Problems } from "./problems.ts";
import { asMap, eachItem, placeIn, placeOf, readName, readTable, refuseUnknownKeys } from "./read-map.ts";
import type { SystemParams } from "./read-param.ts";
import type { MapNode } from "./source-node.ts";
import { sourceParams } from "./source-params.ts";
import { sourcesOf } from "./sources.ts";

export const realmParams = {
  listen: { format: "listen", default: [], doc: "Where requests of this realm come in; required." },
  allow: {
    format: "choice",
    choices: ["any", "agents"],
    default: "any",
    doc: "Whose requests are served: anybody's, or only those of the realm's session agents.",
  },
  "in-translationid": {
    format: "text",
    default: "",
    doc: "`translation-rules` for the numbers of calls that enter here, save from agents that name their own.",
  },
  "out-translationid": {
    format: "text",
    default: "",
    doc: "`translation-rules` for the numbers of calls to agents of the realm that name none of their own.",
  },
} as const satisfies SystemParams;

/** The realms, and every address that one of them listens on. */
export interface Realms {
  readonly realms: RealmConfig[];
  readonly listeners: readonly Listener[];
}

/** The realms of the file; without any there is one, `default`, on the given addresses, that allows any source. */
export function readRealms(
  root: MapNode,
  listen: readonly ListenAddress[],
  common: SourceConfig,
  problems: Problems,
): Realms {
  const realms: RealmConfig[] = [];
  const listeners: Listener[] = [];
  for (const [node, path] of eachItem(root, "realms", "", problems)) {
    const map = asMap(node, path, problems);
    if (!map) continue;
    refuseUnknownKeys(map, path, ["identifier", ...Object.keys(realmParams), ...Object.keys(sourceParams)], problems);
    const identifier = readName(map, "identifier", path, problems);
    const values = readTable(map, path, realmParams, problems);
    const sources = sourcesOf(readTable(map, path, sourceParams, problems), common);
    if (values.get("allow") === "agents" && map.entries.has("allow-from")) {
      const text = "not used, as allow is agents, so that nobody else is heard";
      problems.warning({ line: map.line, path: `${path}.allow-from` }, text);
    }
    const addresses = (values.get("listen") ?? []) as ListenAddress[];
    if (addresses.length === 0 && (values.has("listen") || !map.entries.has("listen"))) {
      problems.error({ line: map.line, path: `${path}.listen` }, "found nothing, expected at least one address");
    }
    if (realms.some((realm) => realm.identifier === identifier)) {
      problems.error({ line: map.line, path: `${path}.identifier` }, `found "${identifier}" a second time`);
    }
    listeners.push(...at(placeOf(map, path, "listen"), addresses));
    if (identifier === undefined) continue;
    realms.push({
      identifier,
      listen: addresses,
      allow: (values.get("allow") ?? "any") as RealmConfig["allow"],
      sources,
      "in-translationid": String(values.get("in-translationid") ?? ""),
      "out-translationid": String(values.get("out-translationid") ?? ""),
    });
  }
  if (realms.length > 0) return { realms, listeners };
  if (!root.entries.has("realms")) listeners.push(...at(placeIn(root, "signalling.listen"), listen));
  return { realms: [{ identifier: "default", listen, allow: "any", sources: common }], listeners };
}

const at = (place: Place, addresses: readonly ListenAddress[]): Listener[] =>
  addresses.map((address) => ({ ...address, place }));
