import { parseNameAddr } from "../engine/message/name-addr.ts";
import { splitValues } from "../engine/message/params.ts";
import { parseUri, type SipUri } from "../engine/message/uri.ts";
import type { Headers } from "./port.ts";

/**
 * The Path of a REGISTER (RFC 3327), which is the Route of requests to the phone: proxies in the order in which these are to
 * pass them. "" where there is none, undefined for a malformed one.
 */
export function readPath({ path }: Headers): string | undefined {
  if (path === undefined) return "";
  const hops = splitValues(path);
  return hops.length > 0 && hops.every((hop) => uriOf(hop)) ? hops.join(", ") : undefined;
}

/** The proxies of a path, nearest first. */
export const hopsOf = (path: string): string[] => splitValues(path);

/** The proxy that is sent to; undefined for an empty path. */
export function nearestHop(path: string): SipUri | undefined {
  const [hop] = hopsOf(path);
  return hop === undefined ? undefined : uriOf(hop);
}

/** A value is a name-addr, brackets and all (RFC 3327 section 4). */
const uriOf = (hop: string): SipUri | undefined =>
  hop.includes("<") ? parseUri(parseNameAddr(hop)?.uri ?? "") : undefined;
