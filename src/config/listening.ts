import { isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";
import type { AgentParams } from "../agents/params.ts";
import { formatHostPort, formatListenAddress, formatPort } from "./addresses.ts";
import type { ListenAddress } from "./config.ts";
import type { Place, Problems } from "./problems.ts";
import type { Placed } from "./session-agents.ts";

/** What is legal but will not work as meant between the agents and the addresses that the embedded engine listens on. */
export function warnAboutListening(
  agents: readonly Placed<AgentParams>[],
  listen: readonly ListenAddress[],
  problems: Problems,
): void {
  const own = new Set(listen.map(formatHostPort));
  const served = new Set(listen.map((address) => kind(address.protocol, address.address)));
  const reachOut = new Set(
    listen.filter((own) => !isLoopback(own.address)).map((own) => kind(own.protocol, own.address)),
  );
  const first = new Map<string, string>();
  for (const agent of agents) {
    const { hostname, "ip-address": address, port, "transport-method": transport } = agent.value;
    if (address === "") {
      // Either family will do, as the name may lead to both.
      if (served.has(kind(transport, "")) || served.has(kind(transport, "::"))) continue;
      const place = agent.placeOf("transport-method");
      problems.warning(place, `the agent cannot be reached, as Weir listens on no ${transport} address`);
      continue;
    }
    const target = formatHostPort({ address, port });
    if (own.has(target)) problems.warning(agent.placeOf("ip-address"), `${target} is where Weir itself listens`);
    if (!served.has(kind(transport, address))) {
      const place = agent.placeOf("transport-method");
      problems.warning(place, `the agent cannot be reached, as Weir listens on no ${kind(transport, address)} address`);
    } else if (!isLoopback(address) && !reachOut.has(kind(transport, address))) {
      const text = `${address} cannot be reached from the loopback addresses that Weir listens on for ${kind(transport, address)}`;
      problems.warning(agent.placeOf("ip-address"), `${text}; add an address of this machine to listen on`);
    }
    const before = first.get(`${agent.value["realm-id"]} ${target}`);
    if (before !== undefined) {
      const text = `${target} is also the address of ${before}, so requests from there count as received from ${before}`;
      problems.warning(agent.placeOf("ip-address"), text);
    } else first.set(`${agent.value["realm-id"]} ${target}`, hostname);
  }
}

/** Of this machine alone. What is no address was refused before. */
const isLoopback = (address: string): boolean =>
  ipaddr.isValid(address) && ipaddr.process(address).range() === "loopback";

const kind = (transport: string, address: string): string =>
  `${transport.toUpperCase()} ${isIPv6(address) ? "IPv6" : "IPv4"}`;

/** Addresses that stand twice in one list; port 0 is a different port each time. */
export function refuseRepeatedListeners(listen: readonly ListenAddress[], place: Place, problems: Problems): void {
  const seen = new Set<string>();
  for (const address of listen.filter(({ port }) => port > 0)) {
    const port = formatPort(address);
    if (seen.has(port)) {
      problems.error(place, `found ${formatListenAddress(address)} a second time`);
    }
    seen.add(port);
  }
}
