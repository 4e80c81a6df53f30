import { isIP } from "node:net";
import { parseNameAddr } from "../message/name-addr.ts";
import type { SipMessage } from "../message/sip-message.ts";
import { type HostPort, hostPort, parseNatural, parseUri, type SipUri } from "../message/uri.ts";
import type { Flow } from "../transport/transport.ts";

/**
 * A path as a URI: the peer's address as it is seen from here, and in `ob` (RFC 5626 section 5.4) the listener that its
 * requests come in at. A peer behind a NAT is reached by no other.
 */
export function pathUri({ protocol, remoteAddress, remotePort, localAddress, localPort }: Flow): string {
  return `sip:${hostPort(remoteAddress, remotePort)};transport=${protocol};ob=${hostPort(localAddress, localPort)}`;
}

export function isPath(uri: string): boolean {
  const parsed = uri === "" ? undefined : parseUri(uri);
  return parsed !== undefined && listenerOf(parsed) !== undefined;
}

/** The listener that a path leads by; undefined for a URI that is no path. The address may be IPv6 without brackets. */
export const listenerOf = (uri: SipUri): HostPort | undefined => listenerNamed(uri.param("ob"));

/** The listener that a next hop is to be reached from, in its parameter `local`; undefined where any will do. */
export const senderOf = (uri: SipUri): HostPort | undefined => listenerNamed(uri.param("local"));

/** Reads `host:port`. */
export function listenerNamed(listener: string | undefined): HostPort | undefined {
  if (!listener) return undefined;
  const colon = listener.lastIndexOf(":");
  const port = parseNatural(listener.slice(colon + 1), 65_535);
  return port > 0 ? { host: listener.slice(0, colon).replace(/^\[|\]$/g, ""), port } : undefined;
}

/**
 * The path to a peer that no proxy stands before and whose own address, in its Via and its Contact alike, is not the one
 * that its request came from: requests to its Contact would never reach it. "" for any other.
 */
export function pathOfHidden(request: SipMessage, flow: Flow): string {
  const { host, port } = request.topVia;
  const samePort = flow.reliable || flow.remotePort === (port || 5_060);
  if ((host === flow.remoteAddress && samePort) || isIP(host) === 0) return "";
  const [contact = "", ...others] = request.headerValues("contact");
  const uri = parseUri(parseNameAddr(contact)?.uri ?? "");
  if (others.length > 0 || request.headerValues("via").length > 1) return "";
  return uri?.host === host && uri.port === port ? pathUri(flow) : "";
}
