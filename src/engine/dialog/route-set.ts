import { parseNameAddr } from "../message/name-addr.ts";
import { parseUri } from "../message/uri.ts";

/** How a request with a route set starts. */
export interface Routed {
  readonly requestUri: string;
  /** Whole Route lines. */
  readonly routes: string;
}

/** A request for `target` by way of a route set, nearest hop first (RFC 3261 section 12.2.1.1). */
export function routed(routeSet: readonly string[], target: string): Routed {
  const [first, ...others] = routeSet;
  if (first === undefined) return { requestUri: target, routes: "" };
  const uri = routeUri(first) ?? "";
  if (parseUri(uri)?.param("lr") !== undefined) return { requestUri: target, routes: routeLines(routeSet) };
  // A strict router (RFC 2543) finds its own URI in the request line and the target last in the Route.
  return { requestUri: uri, routes: routeLines([...others, `<${target}>`]) };
}

/** The URI of a Route value; undefined for a malformed one. */
export const routeUri = (route: string): string | undefined => parseNameAddr(route)?.uri;

function routeLines(routes: readonly string[]): string {
  let lines = "";
  for (const route of routes) lines += `Route: ${route}\r\n`;
  return lines;
}
