/** Where SIP messages are sent: a numeric address, IPv6 without brackets, and a port. */
export interface Endpoint {
  readonly protocol: "udp" | "tcp" | "tls";
  readonly address: string;
  readonly port: number;
}

/** One host that serves a name: an SRV record, or the name itself, with its addresses in the order in which they are tried. */
export interface Site {
  readonly host: string;
  /** RFC 2782: lower ones first. */
  readonly priority: number;
  /** RFC 2782: the share of the calls among the sites of one priority. */
  readonly weight: number;
  readonly endpoints: readonly Endpoint[];
}

/** Everywhere that a name leads to (RFC 3263). */
export type Location = readonly Site[];

export const endpointKey = ({ protocol, address, port }: Endpoint): string => `${protocol} ${address} ${port}`;

/** The endpoints in the order in which one request tries them: by priority, within it drawn by weight (RFC 2782). */
export function inOrder(location: Location, random: () => number): Endpoint[] {
  const [first] = location;
  if (first && location.length === 1) return [...first.endpoints];
  const order: Endpoint[] = [];
  for (const priority of [...new Set(location.map((site) => site.priority))].sort((a, b) => a - b)) {
    // Those of weight 0 stand first, so that they have a small chance beside others (RFC 2782).
    const left = location.filter((site) => site.priority === priority).sort((a, b) => a.weight - b.weight);
    while (left.length > 0) {
      const [site] = left.splice(drawn(left, random()), 1);
      if (site) order.push(...site.endpoints);
    }
  }
  return order;
}

/** `chance`: 0 inclusive to 1 exclusive. */
function drawn(sites: readonly Site[], chance: number): number {
  const mark = Math.floor(chance * (sites.reduce((sum, { weight }) => sum + weight, 0) + 1));
  let sum = 0;
  return sites.findIndex(({ weight }) => {
    sum += weight;
    return sum >= mark;
  });
}
