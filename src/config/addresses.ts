import { isIP, isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";
import type { ListenAddress } from "./config.ts";

export interface HostPort {
  /** Numeric; IPv6 without brackets. */
  readonly address: string;
  readonly port: number;
}

/** A numeric address as the network layer writes it: IPv6 has many spellings, sources are compared as text. */
export const canonicalAddress = (text: string): string | undefined =>
  isIP(text) === 0 ? undefined : ipaddr.parse(text).toString();

/** `192.0.2.1:5060` or `[2001:db8::1]:5060`; undefined when it is not that. Port 0 lets the system choose. */
export function parseHostPort(text: string): HostPort | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text.trim());
  if (!match) return undefined;
  const address = canonicalAddress(match[1] ?? match[2] ?? "");
  const port = Number(match[3]);
  const bracketed = match[1] !== undefined;
  if (address === undefined || isIPv6(address) !== bracketed || port > 65_535) return undefined;
  return { address, port };
}

const protocols = ["udp", "tcp", "tls"] as const;

/** `udp://192.0.2.1:5060`; undefined when it is not that. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const [scheme = "", rest = ""] = text.trim().split("://", 2);
  const protocol = protocols.find((known) => known === scheme.toLowerCase());
  const target = parseHostPort(rest);
  return protocol && target && { protocol, ...target };
}

/** A DNS server: a numeric address, with a port where it is not 53. As Node's resolver takes it. */
export function parseServer(text: string): string | undefined {
  const address = text.trim();
  const withPort = parseHostPort(address);
  if (withPort) return withPort.port > 0 ? formatHostPort(withPort) : undefined;
  return canonicalAddress(address);
}

/** `192.0.2.0/24`; a single address is a network of its own. Undefined when it is neither. */
export function parseNetwork(text: string): string | undefined {
  const [host = "", prefix, ...more] = text.trim().split("/");
  const address = canonicalAddress(host);
  if (address === undefined || more.length > 0) return undefined;
  const longest = isIPv6(address) ? 128 : 32;
  if (prefix === undefined) return `${address}/${longest}`;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= longest ? `${address}/${Number(prefix)}` : undefined;
}

export const formatHostPort = ({ address, port }: HostPort): string =>
  isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;

export const formatListenAddress = (listen: ListenAddress): string => `${listen.protocol}://${formatHostPort(listen)}`;
