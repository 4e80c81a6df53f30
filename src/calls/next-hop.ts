import type { Lease } from "../agents/lease.ts";
import type { SessionAgent } from "../agents/session-agent.ts";
import type { Selection } from "../routing/route-plan.ts";
import { hostPort, parseUri } from "../signalling/addresses.ts";
import { hopOfAgent, type NextHop } from "../signalling/next-hop.ts";

export type { NextHop } from "../signalling/next-hop.ts";

/** Who an attempt goes to. A next hop that is no agent has no place to take. */
export interface Candidate {
  readonly hop: NextHop;
  readonly agent?: SessionAgent;
  readonly lease?: Lease;
}

export function candidateOf(selection: Exclude<Selection, { kind: "exhausted" }>): Candidate {
  if (selection.kind === "address") return { hop: hopOfAddress(selection.address) };
  const { agent, lease } = selection;
  return { hop: hopOfAgent(agent.params), agent, lease };
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
