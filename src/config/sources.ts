import { BlockList, isIPv6 } from "node:net";
import type { AgentParams } from "../agents/params.ts";
import type { SourceRefusal, SourceRules } from "../source-rules.ts";
import type { RealmConfig, SourceConfig, WeirConfig } from "./config.ts";
import type { MappedResponse } from "./local-responses.ts";
import type { Problems } from "./problems.ts";
import type { Placed } from "./session-agents.ts";
import { sourceParams } from "./source-params.ts";

/** What a realm says over what is said for all. */
export const sourcesOf = (set: ReadonlyMap<string, unknown>, common: SourceConfig): SourceConfig => ({
  ...common,
  ...Object.fromEntries([...set].filter(([name]) => name in sourceParams)),
});

/** Whose requests each realm hears. */
export function sourceRules(
  realms: readonly RealmConfig[],
  agents: readonly AgentParams[],
  config: Pick<WeirConfig, "local-response-map" | "retry-after">,
): SourceRules[] {
  const { "unknown-source": unknown, "source-rate": tooMany } = config["local-response-map"];
  return realms.flatMap(({ identifier: realm, listen, allow, sources }) => {
    if (!sources) return [];
    const own = agents.filter((agent) => agent["realm-id"] === realm && agent["ip-address"] !== "");
    const rules: SourceRules = {
      realm,
      listen,
      agents: [...new Set(own.map((agent) => agent["ip-address"]))],
      closed: allow === "agents" && unknown?.status === 0,
      allowFrom: sources["allow-from"],
      denyFrom: sources["deny-from"],
      maxRate: sources["max-source-rate"],
      window: sources["source-rate-window"],
      dropUserAgents: sources["drop-user-agents"],
      unknown: refusal(403, unknown),
      tooMany: { ...refusal(503, tooMany), retryAfter: config["retry-after"] },
    };
    return [rules];
  });
}

/** Status 0 stands for silence. */
function refusal(status: number, mapped: MappedResponse = {}): SourceRefusal {
  const { reason, "q850-cause": cause } = mapped;
  return {
    status: mapped.status || status,
    ...(reason !== undefined && { reason }),
    ...(cause !== undefined && { "q850-cause": cause }),
    ...(mapped.status === 0 && { silent: true }),
  };
}

/** What is legal but will not work as meant between the agents and the lists of sources. */
export function warnAboutSources(
  realms: readonly RealmConfig[],
  agents: readonly Placed<AgentParams>[],
  problems: Problems,
): void {
  for (const { identifier, sources } of realms) {
    const denied = sources && listOf(sources["deny-from"]);
    if (!denied) continue;
    for (const { value, placeOf } of agents) {
      const address = value["ip-address"];
      const here = realms.length === 1 || value["realm-id"] === identifier;
      if (!here || address === "" || !denied.check(address, familyOf(address))) continue;
      problems.warning(
        placeOf("ip-address"),
        `in deny-from of the realm ${identifier}, so that its requests are refused`,
      );
    }
  }
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix = ""] = network.split("/");
    list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return list;
}

const familyOf = (address: string): "ipv4" | "ipv6" => (isIPv6(address) ? "ipv6" : "ipv4");
