import dgram from "node:dgram";
import { isIP, SocketAddress } from "node:net";
import { networkInterfaces } from "node:os";
import type { HostPort } from "../message/uri.ts";
import type { Protocol, Target } from "./transport.ts";

/** The port that is meant when none is given (RFC 3261 section 19.1.2). */
export const defaultPort = (protocol: Protocol): number => (protocol === "tls" ? 5_061 : 5_060);

/** An address as the system writes it: IPv6 in its short form. Anything that is no address comes back as it is. */
export function normalAddress(host: string): string {
  if (!host.includes(":") || isIP(host) !== 6) return host;
  return new SocketAddress({ address: host, family: "ipv6" }).address;
}

/** 4, 6, or 0 for what is no address. */
export function familyOf(address: string): number {
  return isIP(address);
}

export function isWildcard(address: string): boolean {
  return address === "0.0.0.0" || normalAddress(address) === "::";
}

function isLoopback(address: string): boolean {
  return address.startsWith("127.") || normalAddress(address) === "::1";
}

/**
 * The listener whose address suits a peer best: a loopback one for a loopback peer and another one for others, then a
 * wildcard one, then the first of that family. Undefined when the family is not listened on.
 */
export function bestListener<L extends Target>(listeners: readonly L[], peer: string): L | undefined {
  const family = familyOf(peer);
  const candidates = listeners.filter(({ address }) => familyOf(address) === family);
  const loopback = isLoopback(peer);
  return (
    candidates.find(({ address }) => !isWildcard(address) && isLoopback(address) === loopback) ??
    candidates.find(({ address }) => isWildcard(address)) ??
    candidates[0]
  );
}

/** The listener at `local`, by its address alone where its port is another; the best one where there is none. */
export function listenerAt<L extends Target>(listeners: readonly L[], peer: string, local?: HostPort): L | undefined {
  if (local === undefined || listeners.length < 2) return bestListener(listeners, peer);
  const host = normalAddress(local.host);
  const there = listeners.filter(({ address }) => normalAddress(address) === host && familyOf(host) === familyOf(peer));
  return there.find(({ port }) => port === local.port) ?? there[0] ?? bestListener(listeners, peer);
}

/** Whether one of the listeners answers at `host`:`port`. */
export function isListening(listeners: readonly Target[], host: string, port: number): boolean {
  const address = normalAddress(host);
  return listeners.some((listener) => {
    if (listener.port !== port) return false;
    if (address.toLowerCase() === "localhost") return isLoopback(listener.address) || isWildcard(listener.address);
    if (!isWildcard(listener.address)) return normalAddress(listener.address) === address;
    return familyOf(listener.address) === familyOf(address) && (isLoopback(address) || ownAddresses().has(address));
  });
}

function ownAddresses(): Set<string> {
  return new Set(Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)));
}

/** dgram's `lookup` for addresses that need none: it answers at once, so that bind, connect and send are synchronous. */
export function noLookup(
  address: string,
  options: unknown,
  callback: (error: NodeJS.ErrnoException | null, address: string, family: number) => void,
): void {
  void options;
  callback(null, address, familyOf(address));
}

/** Remembered sources; beyond it the memory is emptied, which costs a system call or three for each peer. */
const MAX_SOURCES = 4_096;
const sources = new Map<string, string>();

/** The address of this machine that the route to `peer` starts from: what a wildcard listener shows to that peer. */
export function sourceAddress(peer: string): string {
  let source = sources.get(peer);
  if (source === undefined) {
    source = askSource(peer);
    if (sources.size >= MAX_SOURCES) sources.clear();
    sources.set(peer, source);
  }
  return source;
}

function askSource(peer: string): string {
  const six = familyOf(peer) === 6;
  const probe = dgram.createSocket({ type: six ? "udp6" : "udp4", lookup: noLookup });
  probe.on("error", () => {
    // No route: what is sent to that peer will fail anyway.
  });
  try {
    probe.connect(9, peer);
    return probe.address().address;
  } catch {
    return six ? "::1" : "127.0.0.1";
  } finally {
    probe.close();
  }
}
