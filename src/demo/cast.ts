import type { Ms } from "../clock.ts";
import type { Habits } from "./callers.ts";
import type { Manner } from "./carrier.ts";
import { loopback } from "./ports.ts";

/** A carrier of the demo: how it behaves, and what Weir is told about it. */
export interface Role {
  readonly hostname: string;
  readonly manner: Manner;
  /** Its limits, by the names of the configuration. */
  readonly limits: Readonly<Record<string, number>>;
}

export const carriers: readonly Role[] = [
  {
    hostname: "wide",
    manner: { postDialDelay: 200, ringing: 1_200, refused: 0 },
    limits: { "max-outbound-sessions": 60, "max-burst-rate": 20 },
  },
  {
    // Full most of the time: watch it turn between I and C, and its refusals counted.
    hostname: "small",
    manner: { postDialDelay: 150, ringing: 800, refused: 0 },
    limits: { "max-outbound-sessions": 5 },
  },
  {
    // Every fourth call comes back with 503 and goes on to the next carrier; the caller hears nothing of it.
    hostname: "moody",
    manner: { postDialDelay: 300, ringing: 1_000, refused: 0.25 },
    limits: { "max-outbound-sessions": 40, "max-burst-rate": 3 },
  },
  {
    // Takes so long to ring and to answer that some callers give up.
    hostname: "slow",
    manner: { postDialDelay: 2_500, ringing: 4_000, refused: 0 },
    limits: { "max-outbound-sessions": 15 },
  },
];

export const habits: Habits = {
  // From one to seven calls per second and back, twice a minute.
  rate: (elapsed: Ms) => 4 - 3 * Math.cos((elapsed / 30_000) * 2 * Math.PI),
  shortestTalk: 2_000,
  longestTalk: 8_000,
  patience: 7_000,
};

export interface Stage {
  readonly weirPort: number;
  readonly callersPort: number;
  /** In the order of `carriers`. */
  readonly carrierPorts: readonly number[];
}

/** Weir's configuration for the demo, as a person would write it. */
export function configuration(stage: Stage): string {
  const { weirPort, callersPort, carrierPorts } = stage;
  const agent = (hostname: string, port: number | undefined, limits: Role["limits"]): string => {
    const more = Object.entries(limits).map(([name, value]) => `, ${name}: ${value}`);
    return `  - { hostname: ${hostname}, ip-address: ${loopback}, port: ${port}${more.join("")} }`;
  };
  return `
signalling:
  listen: ["udp://${loopback}:${weirPort}"]
session-agents:
${agent("callers", callersPort, { "max-inbound-sessions": 50 })}
${carriers.map(({ hostname, limits }, index) => agent(hostname, carrierPorts[index], limits)).join("\n")}
session-agent-groups:
  - { group-name: carriers, strategy: round-robin, dest: [${carriers.map(({ hostname }) => hostname).join(", ")}] }
local-policies:
  - { from-address: ["*"], to-address: ["*"], source-realm: ["*"], policy-attributes: [{ next-hop: "SAG:carriers", cost: 0 }] }
admin: { listen: "${loopback}:0" }
`;
}
