import type { Ms } from "../clock.ts";
import { type RouteView, routeView } from "../routing/explanation.ts";
import type { RouteTrace } from "../routing/route-plan.ts";
import type { Source } from "../signalling/port.ts";
import type { CallState } from "./call-states.ts";
import type { LocalCause } from "./local-responses.ts";

export type Side = "caller" | "agent";

/** One attempt as it stands in a call's trace. */
export interface AttemptTrace {
  readonly agent: string;
  /** The group that the agent was chosen from, where it was from one. */
  readonly group?: string;
  /** The policy that it comes from, as the route names it; none for a phone. */
  readonly policy?: string;
  /** Which of the addresses of an agent that is known by name. */
  readonly address?: string;
  /** "" until the engine has accepted it. */
  callId: string;
  /** `calling`, `ringing`, then how it ended: a status, or the kind of failure. */
  outcome: string;
}

/**
 * What a call is, as plain data: nothing that lives as long as a call holds a closure or a transaction, so that it can be
 * written out and read back.
 */
export interface CallRecord {
  readonly id: string;
  readonly caller: { readonly callId: string; readonly from: string; readonly to: string; readonly source: Source };
  readonly callerDialog: string;
  /** "" until the agent has made one; an early one until it answers. */
  agentDialog: string;
  /** The agent in force or, for a next hop that is no agent, its address; "" before the first attempt. */
  agent: string;
  readonly attempts: AttemptTrace[];
  /** Why it went where it went. */
  readonly route: RouteTrace;
  /** Monotonic. */
  readonly startedAt: Ms;
  answeredAt: Ms | undefined;
  /** Monotonic: when the session ends unless it is refreshed (RFC 4028); undefined where no session timer runs. */
  expiresAt: Ms | undefined;
  /** The name of Weir's own response, where the caller was refused with one. */
  refusal: LocalCause | undefined;
}

/** A call as /v1/calls shows it. Times are ISO 8601. */
export interface CallSnapshot {
  readonly id: string;
  readonly state: CallState;
  readonly caller: CallRecord["caller"];
  readonly agent: { readonly name: string; readonly callId: string };
  readonly started: string;
  readonly answered: string | null;
  /** When its session timer runs out (RFC 4028). */
  readonly expires: string | null;
  readonly attempts: readonly AttemptTrace[];
  readonly route: RouteView;
}

/** `wallMinusMonotonic`: what turns the record's times into dates. */
export function snapshotOf(record: CallRecord, state: CallState, wallMinusMonotonic: Ms): CallSnapshot {
  const iso = (at: Ms): string => new Date(at + wallMinusMonotonic).toISOString();
  return {
    id: record.id,
    state,
    caller: record.caller,
    agent: { name: record.agent, callId: record.attempts.at(-1)?.callId ?? "" },
    started: iso(record.startedAt),
    answered: record.answeredAt === undefined ? null : iso(record.answeredAt),
    expires: record.expiresAt === undefined ? null : iso(record.expiresAt),
    attempts: record.attempts.map((attempt) => ({ ...attempt })),
    route: routeView(record.route, wallMinusMonotonic),
  };
}
