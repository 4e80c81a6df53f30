import { formatListenAddress, formatPort } from "./addresses.ts";
import type { ListenAddress, RealmConfig, SourceConfig } from "./config.ts";
import { refuseRepeatedListeners } from "./listening.ts";
import type { Problems } from "./problems.ts";
import { asMap, eachItem, readName, readTable, refuseUnknownKeys } from "./read-map.ts";
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

/** The realms of the file; without any there is one, `default`, on the given addresses, that allows any source. */
export function readRealms(
  root: MapNode,
  listen: readonly ListenAddress[],
  common: SourceConfig,
  problems: Problems,
): RealmConfig[] {
  const realms: RealmConfig[] = [];
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
    refuseRepeatedListeners(addresses, { line: map.line, path: `${path}.listen` }, problems);
    for (const address of shared(addresses, realms)) {
      problems.error(
        { line: map.line, path: `${path}.listen` },
        `found ${address}, on which another realm listens, expected each address in one realm`,
      );
    }
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
  return realms.length > 0 ? realms : [{ identifier: "default", listen, allow: "any", sources: common }];
}

/** Port 0 is a different port each time, so it is never shared. */
function shared(addresses: readonly ListenAddress[], realms: readonly RealmConfig[]): string[] {
  const taken = new Set(realms.flatMap((realm) => realm.listen.map(formatPort)));
  return addresses.filter((address) => address.port > 0 && taken.has(formatPort(address))).map(formatListenAddress);
}
