import type { AgentParams } from "../agents/params.ts";
import { hostPort } from "./addresses.ts";

/** Where a request goes, in the words of a URI. */
export interface NextHop {
  /** The agent's hostname, or the address as configured: for traces and logs. */
  readonly name: string;
  /** `host:port`, IPv6 in brackets. */
  readonly address: string;
  /** `;transport=tcp`, or "" for UDP, which is what a URI without it means (RFC 3263 section 4.1). */
  readonly transport: string;
  /** To be asked by a SIPS URI, whatever URI the caller used. */
  readonly secure?: true;
}

export function hopOfAgent(params: AgentParams): NextHop {
  const protocol = params["transport-method"].toLowerCase();
  return {
    name: params.hostname,
    address: hostPort(params["ip-address"] || params.hostname, params.port),
    transport: protocol === "udp" ? "" : `;transport=${protocol}`,
  };
}
