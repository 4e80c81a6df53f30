import { isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";
import type { AgentParams } from "../agents/params.ts";
import { formatHostPort, formatListenAddress, type HostPort } from "./addresses.ts";
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

/** Something that listens, with the place that says so. */
export interface Listener extends ListenAddress {
  readonly place: Place;
}

/**
 * Addresses that cannot be bound beside one that was named before. With an external drachtio-server, where the addresses tell
 * the realms apart and no more, those are the equal ones alone.
 */
export function refuseOverlaps(listeners: readonly Listener[], embedded: boolean, problems: Problems): void {
  const byPort = new Map<string, Listener[]>();
  for (const listener of listeners) {
    const port = `${transportOf(listener)} ${listener.port}`;
    const before = byPort.get(port) ?? [];
    const other = before.find((one) => isSame(one, listener) || (embedded && inTheWay(one, listener)));
    if (other) problems.error(listener.place, overlap(listener, other));
    before.push(listener);
    byPort.set(port, before);
  }
}

/** What keeps the admin API from being served: it takes a port as a TCP listener does, and on `::` that of IPv4 as well. */
export function refuseAdminOverlap(admin: HostPort, place: Place, listeners: readonly Listener[], problems: Problems) {
  const own: Listener = { protocol: "tcp", ...admin, place };
  const rivals = listeners.filter((one) => transportOf(one) === "tcp" && one.port === own.port && one.port > 0);
  const other = rivals.find((one) => own.address === "::" || inTheWay(one, own));
  if (other) problems.error(place, `found ${formatHostPort(admin)}, ${where(other)}, expected a port of its own`);
}

function overlap(listener: Listener, other: Listener): string {
  const found = `found ${formatListenAddress(listener)}`;
  const same = isSame(listener, other);
  if (same && listener.place.path === other.place.path) return `${found} a second time`;
  const expected = same ? "each address in one realm" : "no address that takes in another at the same port";
  return `${found}, ${where(other)}, expected ${expected}`;
}

const where = ({ place, ...address }: Listener): string =>
  `beside ${formatListenAddress(address)} of ${place.path} on line ${place.line}`;

/** TLS takes a TCP port. */
const transportOf = ({ protocol }: ListenAddress): string => (protocol === "udp" ? "udp" : "tcp");

/** Of two at the same port. Port 0 is a different port each time. */
const isSame = (a: ListenAddress, b: ListenAddress): boolean => a.port > 0 && a.address === b.address;

/** Of two at the same port. The engine's listeners on `::` take no IPv4. */
const inTheWay = (a: ListenAddress, b: ListenAddress): boolean =>
  a.port > 0 &&
  isIPv6(a.address) === isIPv6(b.address) &&
  (a.address === b.address || isWildcard(a.address) || isWildcard(b.address));

const isWildcard = (address: string): boolean => address === "0.0.0.0" || address === "::";
