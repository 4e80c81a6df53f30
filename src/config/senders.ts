import { isIP } from "node:net";
import type { AgentParams } from "../agents/params.ts";
import { formatHostPort } from "./addresses.ts";
import type { ListenAddress, RealmConfig } from "./config.ts";

/**
 * The agents, each with the listener of its realm that requests to it leave from. None is named where there is only one to
 * leave from, or the realm has none of the agent's transport and address family.
 */
export function withListeners(
  agents: readonly AgentParams[],
  realms: readonly RealmConfig[],
  listen: readonly ListenAddress[],
): AgentParams[] {
  return agents.map((agent) => {
    const family = isIP(agent["ip-address"]);
    const protocol = agent["transport-method"].toLowerCase();
    // A name may lead to either family.
    const fits = (each: ListenAddress): boolean =>
      each.protocol === protocol && (family === 0 || isIP(each.address) === family);
    if (listen.filter(fits).length < 2) return agent;
    const own = realms.find(({ identifier }) => identifier === agent["realm-id"])?.listen.find(fits);
    return own ? { ...agent, listener: formatHostPort(own) } : agent;
  });
}
