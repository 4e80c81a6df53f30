import { type Clock, type Ms, wallMinusMonotonic } from "../clock.ts";
import type { AgentAddress } from "./addresses-health.ts";
import type { LastPing } from "./agent-pings.ts";
import type { Scope } from "./attempt-counts.ts";
import { burstRate } from "./burst-limit.ts";
import type { Direction } from "./direction.ts";
import type { Health } from "./health.ts";
import { isOn } from "./hold.ts";
import type { LatencyView } from "./latency.ts";
import type { LimitName } from "./limit.ts";
import type { Meters } from "./meters.ts";
import type { AgentParams } from "./params.ts";
import type { Facts, ShownState } from "./shown-state.ts";
import { type AdminState, type StateChange, type StateLetter, type StateReason, stateWords } from "./state.ts";
import { sustainedRate } from "./sustained-limit.ts";

/** A measure beside the limit on it; maximum 0 = no limit. */
export interface Active {
  readonly active: number;
  readonly maximum: number;
}

export interface Rate {
  /** Per second. */
  readonly value: number;
  readonly maximum: number;
}

export interface AddressView {
  readonly address: string;
  readonly transport: string;
  readonly health: Health;
  readonly reason: StateReason;
  /** True while others are tried first, as nothing came from it within the patience of a call. */
  readonly silent: boolean;
  /** When a timer changes its health next; null while none does. */
  readonly resumeAt: string | null;
}

export interface AgentSnapshot {
  readonly hostname: string;
  /** `address:port`, or the name that is looked up, with its port where that is configured. */
  readonly address: string;
  /** Where the name leads, each address with its own health; absent where the parameters tell the address. */
  readonly addresses?: readonly AddressView[];
  /** Absent where the agent need not register us. */
  readonly registered?: boolean;
  readonly transport: string;
  readonly realm: string;
  readonly state: { readonly letter: StateLetter; readonly word: string };
  readonly reason: StateReason;
  /** ISO 8601, as all moments here. */
  readonly since: string;
  /** The three facts that the state follows from (SEMANTICS section 2). */
  readonly admin: AdminState;
  readonly health: Health;
  readonly constraint: readonly LimitName[];
  readonly sessions: Readonly<Record<Scope, Active>>;
  readonly rates: Readonly<Record<"burst" | "sustain", Readonly<Record<Scope, Rate>>>>;
  /** Of the current sustain window. `ratio` in %, null before the first attempt. */
  readonly asr: {
    readonly ratio: number | null;
    readonly answered: number;
    readonly attempts: number;
    readonly minimum: number;
  };
  /** Refusals by limit since the start. */
  readonly exceeded: Readonly<Partial<Record<LimitName, number>>>;
  /** Requests refused by limits since the start; one may have met several. */
  readonly refused: Readonly<Record<Direction, number>>;
  /** Milliseconds to the first response, over the last one to two minutes; null while there was none. */
  readonly latency: LatencyView | null;
  /** Sessions since the start. */
  readonly totals: { readonly inbound: number; readonly outbound: number; readonly answered: number };
  readonly lastPing: (Omit<LastPing, "at"> & { readonly at: string }) | null;
  /** When a timer changes the state next; null while none does. */
  readonly resumeAt: string | null;
  /** The last fifty changes, oldest first. */
  readonly transitions: readonly (Omit<StateChange, "at"> & { readonly at: string })[];
}

export interface SnapshotSource {
  readonly clock: Clock;
  readonly params: AgentParams;
  readonly facts: Facts;
  readonly shown: ShownState;
  readonly exceeded: AgentSnapshot["exceeded"];
  readonly refused: AgentSnapshot["refused"];
  readonly latency: AgentSnapshot["latency"];
  readonly totals: AgentSnapshot["totals"];
  readonly lastPing: LastPing | undefined;
  readonly resumeAt: Ms | undefined;
  readonly addresses: readonly AgentAddress[] | undefined;
  readonly registered: boolean | undefined;
}

export function snapshotOf(source: SnapshotSource): AgentSnapshot {
  const { clock, params, facts, shown, lastPing, resumeAt } = source;
  const { meters } = facts;
  const now = clock.now();
  const letter = shown.letterAt(now);
  const dateOf = (moment: Ms): string => iso(wallMinusMonotonic(clock) + moment);
  return {
    hostname: params.hostname,
    address: hostPort(params["ip-address"] || params.hostname, params.port),
    ...(source.registered !== undefined && { registered: source.registered }),
    ...(source.addresses && { addresses: addressViews(source.addresses, now, dateOf) }),
    transport: params["transport-method"],
    realm: params["realm-id"] || "default",
    state: { letter, word: stateWords[letter] },
    reason: shown.reasonAt(now),
    since: dateOf(shown.since),
    admin: facts.admin,
    health: facts.health.state.health,
    constraint: facts.constraints.allFull(now),
    sessions: byScope((scope, prefix) => ({
      active: meters.sessions.active(scope),
      maximum: params[`${prefix}-sessions`],
    })),
    rates: {
      burst: byScope((scope, prefix) => ({
        value: burstRate(meters.attempts, scope, now),
        maximum: params[`${prefix}-burst-rate`],
      })),
      sustain: byScope((scope, prefix) => ({
        value: sustainedRate(meters.attempts, scope, now),
        maximum: params[`${prefix}-sustain-rate`],
      })),
    },
    asr: answerSeizureOf(meters, params, now),
    exceeded: source.exceeded,
    refused: source.refused,
    latency: source.latency,
    totals: source.totals,
    lastPing: lastPing ? { ...lastPing, at: iso(lastPing.at) } : null,
    resumeAt: resumeAt === undefined ? null : dateOf(resumeAt),
    transitions: shown.transitions.map((change) => ({ ...change, at: iso(change.at) })),
  };
}

const prefixes = { total: "max", inbound: "max-inbound", outbound: "max-outbound" } as const;

function byScope<T>(of: (scope: Scope, prefix: (typeof prefixes)[Scope]) => T): Record<Scope, T> {
  return {
    total: of("total", prefixes.total),
    inbound: of("inbound", prefixes.inbound),
    outbound: of("outbound", prefixes.outbound),
  };
}

function answerSeizureOf(meters: Meters, params: AgentParams, now: Ms): AgentSnapshot["asr"] {
  const { attempts, answered } = meters.answerSeizure.tally(now);
  const ratio = attempts === 0 ? null : Math.min(100, (answered * 100) / attempts);
  return { ratio, answered, attempts, minimum: params["min-asr"] };
}

/** Those that are known: before its name was looked up an agent has none. */
function addressViews(addresses: readonly AgentAddress[], now: Ms, dateOf: (moment: Ms) => string): AddressView[] {
  return addresses.flatMap(({ endpoint, health, avoided }) => {
    if (!endpoint) return [];
    const { address, port, protocol } = endpoint;
    return {
      address: hostPort(address, port),
      transport: protocol.toUpperCase(),
      health: health.state.health,
      reason: health.state.cause.reason,
      silent: isOn(avoided, now),
      resumeAt: health.dueAt === undefined ? null : dateOf(health.dueAt),
    };
  });
}

/** Port 0 = left to DNS. */
function hostPort(address: string, port: number): string {
  const host = address.includes(":") ? `[${address}]` : address;
  return port === 0 ? host : `${host}:${port}`;
}

const iso = (date: Ms): string => new Date(date).toISOString();
