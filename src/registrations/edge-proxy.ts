import type { SessionAgent } from "../agents/session-agent.ts";
import { hasOption } from "../calls/headers.ts";
import type { LocalCause } from "../calls/local-responses.ts";
import { normalAddress } from "../signalling/addresses.ts";
import { nearestHop, readPath } from "../signalling/path.ts";
import type { IncomingRequest } from "../signalling/port.ts";

/** What a REGISTER says of the proxies before its phone: Route values for requests to it, "" for none; or why it is refused. */
export type EdgeProxies = { readonly path: string } | Extract<LocalCause, "bad-request" | "bad-extension">;

/**
 * Path tells where requests are sent, so it is not to be believed of anyone (RFC 3327 section 6.1): of session agents, and of
 * whoever leads to the address that he is at, where anyone can have requests sent. Of others it is no extension that we
 * support, and neither is it where the engine keeps no Route (`takesRoute` false).
 */
export function edgeProxiesOf(request: IncomingRequest, takesRoute: boolean, from?: SessionAgent): EdgeProxies {
  const path = readPath(request.headers);
  if (path === undefined) return "bad-request";
  if (path === "" || (takesRoute && (from || leadsBack(path, request)))) return { path };
  return hasOption(request.headers.require, "path") ? "bad-extension" : { path: "" };
}

function leadsBack(path: string, { source }: IncomingRequest): boolean {
  const hop = nearestHop(path);
  return hop !== undefined && normalAddress(hop.param("maddr") || hop.host) === normalAddress(source.address);
}
