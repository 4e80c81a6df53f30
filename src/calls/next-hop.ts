import type { Lease } from "../agents/lease.ts";
import type { SessionAgent } from "../agents/session-agent.ts";
import type { Redirect, Selection } from "../routing/route-plan.ts";
import type { Numbers } from "../routing/translation.ts";
import { hostPort, parseUri } from "../signalling/addresses.ts";
import { hopOfAgent, type NextHop } from "../signalling/next-hop.ts";

export type { NextHop } from "../signalling/next-hop.ts";

/** Where a request goes, and what it is changed to on the way. */
export interface Destination {
  readonly hop: NextHop;
  /** undefined = the numbers that it came with. */
  readonly numbers?: Numbers;
  /** The Contact of a 3xx that is followed. */
  readonly redirect?: Redirect;
}

/** Who an attempt goes to. A next hop that is no agent has no place to take. */
export interface Candidate extends Destination {
  readonly agent?: SessionAgent;
  readonly group?: string;
  readonly lease?: Lease;
}

export function candidateOf(selection: Exclude<Selection, { kind: "exhausted" }>): Candidate {
  const { numbers, redirect } = selection;
  const way = { ...(numbers && { numbers }), ...(redirect && { redirect }) };
  if (selection.kind === "address") return { hop: hopOfAddress(selection.address), ...way };
  const { agent, lease, group } = selection;
  return { hop: hopOfAgent(agent.params), agent, lease, ...(group !== undefined && { group }), ...way };
}

/** A next hop that is no agent: `host`, `host:port` or a SIP URI. */
export function hopOfAddress(address: string): NextHop {
  const uri = parseUri(/^sips?:/i.test(address) ? address : `sip:${address}`);
  if (!uri) return { name: address, address, transport: "" };
  const transport = uri.secure ? "tls" : (uri.param("transport")?.toLowerCase() ?? "udp");
  return {
    name: address,
    address: hostPort(uri.host, uri.port),
    transport: transport === "udp" ? "" : `;transport=${transport}`,
    ...(uri.secure && { secure: true }),
  };
}
