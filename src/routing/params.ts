import type { Params, ValuesOf } from "../params.ts";

export const strategies = ["hunt", "round-robin", "least-busy", "prop-dist", "low-sus-rate"] as const;
export type Strategy = (typeof strategies)[number];

/**
 * How a failed attempt goes on (SEMANTICS.md section 8). Set for the whole system under `failover`; a group may set its own.
 */
export const failoverParams = {
  "first-response-timeout": {
    format: "number",
    unit: "s",
    default: 4,
    min: 0,
    max: 60,
    fraction: true,
    doc: "Wait for the first response to an attempt, 100 included. 0 = transaction timer B.",
  },
  "ring-timeout": {
    format: "number",
    unit: "s",
    default: 0,
    min: 0,
    max: 3_600,
    doc: "Wait for the final response to an attempt. 0 = three minutes of silence after the last provisional (timer C).",
  },
  "max-attempts": {
    format: "number",
    unit: "count",
    default: 0,
    min: 0,
    max: 100,
    doc: "Attempts for one call, over all groups. 0 = every candidate once.",
  },
  "recurse-codes": {
    format: "codes",
    default: ["408", "500", "502", "503", "504"],
    doc: "Final responses after which the next candidate is tried.",
  },
  "recurse-after-early-media": {
    format: "switch",
    default: "disabled",
    doc: "Try the next candidate also after early media was passed to the caller.",
  },
  "redirect-action": {
    format: "choice",
    choices: ["proxy", "recurse"],
    default: "proxy",
    doc: "A 3xx of an agent: passed back to the caller, with Weir's own address in its Contacts; or its Contacts are followed.",
  },
} as const satisfies Params;

export type FailoverParams = ValuesOf<typeof failoverParams>;

export const groupParams = {
  strategy: { format: "choice", choices: strategies, default: "hunt", doc: "How the next member is chosen." },
  "sag-recursion": { format: "switch", default: "enabled", doc: "Try the next member after a failed attempt." },
  "stop-sag-recurse": { format: "codes", default: ["401", "407"], doc: "Final responses that end the recursion." },
} as const satisfies Params;

/** A session-agent group as configured. `dest` names agents, or groups as `SAG:name`. */
export type GroupParams = ValuesOf<typeof groupParams> & {
  readonly "group-name": string;
  readonly dest: readonly string[];
  /** Only what the group sets itself; the rest comes from the system's `failover`. */
  readonly failover: Partial<FailoverParams>;
};

export interface PolicyAttribute {
  /** An agent's hostname, `SAG:group`, or a SIP address. */
  readonly "next-hop": string;
  readonly cost: number;
  /** The carriers that callers reach by it, as normalCarrier gives them; none = for every caller. */
  readonly carriers?: readonly string[];
}

export interface PolicyTime {
  /** Lower-case three-letter names; empty = every day. */
  readonly "days-of-week": readonly string[];
  /** Minutes after midnight, local time; start > end spans midnight. */
  readonly start: number;
  readonly end: number;
  /** Epoch milliseconds; 0 = open. */
  readonly activate: number;
  readonly deactivate: number;
}

/** A local policy as configured (SEMANTICS.md section 6). Empty `methods` = all. */
export interface PolicyParams {
  readonly "from-address": readonly string[];
  readonly "to-address": readonly string[];
  readonly "source-realm": readonly string[];
  readonly methods: readonly string[];
  readonly time?: PolicyTime;
  readonly "policy-attributes": readonly PolicyAttribute[];
}
