import type { Lease } from "../agents/lease.ts";
import type { SessionAgent } from "../agents/session-agent.ts";
import type { Selection } from "../routing/route-plan.ts";
import { hostPort, parseUri } from "../signalling/addresses.ts";

/** Where an attempt goes, in the words of a URI. */
export interface NextHop {
  /** The agent's hostname, or the address as configured: for traces and logs. */
  readonly name: string;
  /** `host:port`, IPv6 in brackets. */
  readonly address: string;
  /** `;transport=tcp`, or "" for UDP, which is what a URI without it means (RFC 3263 section 4.1). */
  readonly transport: string;
}

/** Who an attempt goes to. A next hop that is no agent has no place to take. */
export interface Candidate {
  readonly hop: NextHop;
  readonly agent?: SessionAgent;
  readonly lease?: Lease;
}

export function candidateOf(selection: Exclude<Selection, { kind: "exhausted" }>): Candidate {
  if (selection.kind === "address") return { hop: hopOfAddress(selection.address) };
  const { agent, lease } = selection;
  return { hop: hopOfAgent(agent), agent, lease };
}

export function hopOfAgent(agent: SessionAgent): NextHop {
  const { params } = agent;
  const host = params["ip-address"] || agent.hostname;
  const protocol = params["transport-method"].toLowerCase();
  return {
    name: agent.hostname,
    address: hostPort(host, params.port),
    transport: protocol === "udp" ? "" : `;transport=${protocol}`,
  };
}

/** A next hop that is no agent: `host`, `host:port` or a SIP URI. */
export function hopOfAddress(address: string): NextHop {
  const uri = parseUri(/^sips?:/i.test(address) ? address : `sip:${address}`);
  if (!uri) return { name: address, address, transport: "" };
  const transport = uri.param("transport")?.toLowerCase() ?? "udp";
  return {
    name: address,
    address: hostPort(uri.host, uri.port),
    transport: transport === "udp" ? "" : `;transport=${transport}`,
  };
}
