import { faultsOf } from "./audit.ts";
import { Sipp, type SippOptions, type SippResult } from "./sipp.ts";
import type { Weir } from "./weir.ts";

type Side = string | readonly [scenario: string, options: Partial<SippOptions>];

export interface Sides {
  /** The called number. */
  readonly number: string;
  readonly caller: Side;
  /** Hostname → what this agent does; an agent left out is not listening. */
  readonly agents: Readonly<Record<string, Side>>;
}

const apart = (side: Side): readonly [string, Partial<SippOptions>] => (typeof side === "string" ? [side, {}] : side);

/**
 * Runs a call, or as many as the options say, through Weir: the agents listen, the caller calls. Throws unless each
 * side's scenario is fulfilled, every message that Weir sent is sound and shows nothing of the other side, and
 * afterwards every session count is zero.
 */
export async function callThrough(weir: Weir, sides: Sides): Promise<Record<string, SippResult>> {
  const running = new Map<string, Sipp>();
  try {
    for (const [hostname, side] of Object.entries(sides.agents)) {
      const [scenario, options] = apart(side);
      running.set(hostname, await Sipp.start(scenario, { ...options, local: weir.agent(hostname) }));
    }
    const [scenario, options] = apart(sides.caller);
    const caller = { local: await weir.caller(), remote: weir.listen, ...options, service: sides.number };
    running.set("caller", await Sipp.start(scenario, caller));
    const ends = [...running].map(async ([who, sipp]) => [who, await sipp.succeeded()] as const);
    const results = Object.fromEntries(await Promise.all(ends));
    const faults = audit(weir, caller.local.address, results);
    if (faults.length > 0) throw new Error(faults.join("\n"));
    await weir.idle();
    return results;
  } finally {
    for (const sipp of running.values()) await sipp.stop();
  }
}

function audit(weir: Weir, callerAddress: string, results: Readonly<Record<string, SippResult>>): string[] {
  const agents = Object.keys(results).filter((who) => who !== "caller");
  const agentAddresses = agents.map((hostname) => weir.agent(hostname).address);
  return Object.entries(results).flatMap(([who, { messages }]) =>
    messages.flatMap((message) => faultsOf(message, who === "caller" ? agentAddresses : [callerAddress])),
  );
}
