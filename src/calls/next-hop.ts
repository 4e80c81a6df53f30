import type { Lease } from "../agents/lease.ts";
import type { SessionAgent } from "../agents/session-agent.ts";
import type { Endpoint } from "../location.ts";
import type { Redirect } from "../routing/route-plan.ts";
import type { Numbers } from "../routing/translation.ts";
import { hostPort, parseUri } from "../signalling/addresses.ts";
import { hopOfAgent, hopOfPhone, type NextHop } from "../signalling/next-hop.ts";
import type { CallSelection } from "./route.ts";

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
  /** Position in the configuration of the policy that it comes from; none for a phone. */
  readonly policy?: number;
  readonly lease?: Lease;
  /** Other addresses of the agent, to be tried within the same place where this one cannot be reached (RFC 3263 section 4.3). */
  readonly others?: readonly Endpoint[];
}

/**
 * Addresses of one agent that one call tries. More of them would keep its caller waiting for longer than a caller waits,
 * where another agent may answer.
 */
const maxAddresses = 4;

export function candidateOf(
  selection: Exclude<CallSelection, { kind: "exhausted" }>,
  random: () => number = () => 0,
): Candidate {
  if (selection.kind === "phone") return { hop: hopOfPhone(selection.phone) };
  const { policy, numbers, redirect } = selection;
  const way = { policy, ...(numbers && { numbers }), ...(redirect && { redirect }) };
  if (selection.kind === "address") return { hop: hopOfAddress(selection.address), ...way };
  const { agent, lease, group } = selection;
  const [endpoint, ...others] = agent.route(random).slice(0, maxAddresses);
  return {
    hop: hopOfAgent(agent.params, endpoint),
    agent,
    lease,
    others,
    ...(group !== undefined && { group }),
    ...way,
  };
}

/** The next address of the same agent, without a place of its own; undefined when there is none left. */
export function candidateAfter({ others = [], lease: _, ...candidate }: Candidate): Candidate | undefined {
  const [endpoint, ...left] = others;
  if (!endpoint || !candidate.agent) return undefined;
  return { ...candidate, hop: hopOfAgent(candidate.agent.params, endpoint), others: left };
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
