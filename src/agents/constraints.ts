import type { Ms } from "../clock.ts";
import type { AdmitRequest } from "./admission.ts";
import type { Scope } from "./attempt-window.ts";
import { BurstLimit } from "./burst-limit.ts";
import { ConcurrentLimit } from "./concurrent-limit.ts";
import type { Direction } from "./direction.ts";
import type { Exceeded, Limit, LimitName } from "./limit.ts";
import type { Meters } from "./meters.ts";
import type { AgentParams, RateConstraint } from "./params.ts";
import type { RetryAfterHold } from "./retry-after-hold.ts";
import { SustainedLimit } from "./sustained-limit.ts";

const none: readonly Exceeded[] = [];

/**
 * The limits of one agent that are on, as configured. Stateless but for the counters they read: made anew when the
 * configuration changes. A limit of 0 has no object here, so 0 means "no limit" on every path.
 */
export class Constraints {
  /** What a session needs room in, in the order in which they are named as the reason. */
  readonly #session: readonly Limit[];
  readonly #inboundSession: readonly Limit[];
  /** Limits of new REGISTERs, then of each method's own rates. */
  readonly #request: ReadonlyMap<string, readonly Limit[]>;

  constructor(params: AgentParams, meters: Meters, retryAfter: RetryAfterHold) {
    const enforced = params.constraints === "enabled";
    const request = enforced ? requestLimits(params, meters) : new Map<string, Limit[]>();
    this.#request = request;
    // Retry-After is the agent's own wish, not one of the limits that `constraints` turns off.
    this.#session = enforced
      ? [...sessionLimits(params, meters), ...(request.get("INVITE") ?? []), retryAfter]
      : [retryAfter];
    this.#inboundSession = this.#session.filter((limit) => limit.scope !== "outbound");
  }

  /** The first limit that leaves no room for one more session, in either direction: what makes the agent show C. */
  firstFull(now: Ms): Limit | undefined {
    for (const limit of this.#session) if (limit.full(now)) return limit;
    return undefined;
  }

  /** Every limit that leaves no room for one more session. */
  allFull(now: Ms): LimitName[] {
    return this.#session.filter((limit) => limit.full(now)).map((limit) => limit.name);
  }

  /** The moment at which time alone may next change `firstFull` between some and none; Infinity when it cannot. */
  turnsAt(now: Ms): Ms {
    let soonest = Number.POSITIVE_INFINITY;
    let latestOfFull = Number.NEGATIVE_INFINITY;
    for (const limit of this.#session) {
      const at = limit.turnsAt(now);
      if (limit.full(now)) latestOfFull = Math.max(latestOfFull, at);
      else soonest = Math.min(soonest, at);
    }
    return latestOfFull === Number.NEGATIVE_INFINITY ? soonest : latestOfFull;
  }

  /** The limits that refuse this request now. A session sent needs room in all, one received in those of its direction. */
  refusing(request: AdmitRequest, now: Ms): readonly Exceeded[] {
    let found: Exceeded[] | undefined;
    for (const limit of this.#limitsOf(request)) {
      if (!limit.full(now) || isWaived(limit.name, request)) continue;
      found ??= [];
      found.push({ limit: limit.name, value: limit.value(now), maximum: limit.maximum });
    }
    return found ?? none;
  }

  /** The named session limit as it stands; maximum 0 when it is no longer on. */
  measure(name: LimitName, now: Ms): Exceeded {
    const limit = this.#session.find((each) => each.name === name);
    return { limit: name, value: limit?.value(now) ?? 0, maximum: limit?.maximum ?? 0 };
  }

  #limitsOf({ method, direction }: AdmitRequest): readonly Limit[] {
    if (method === "INVITE") return direction === "inbound" ? this.#inboundSession : this.#session;
    const limits = this.#request.get(method) ?? [];
    return limits.filter((limit) => limit.scope === "total" || limit.scope === direction);
  }
}

function isWaived(name: LimitName, request: AdmitRequest): boolean {
  if (name === "retry-after") return request.ignoreRetryAfter === true;
  if (request.answersChallenge !== true) return false;
  return name.startsWith("rate-constraints.") || name.startsWith("max-register-");
}

const scopes: readonly { readonly scope: Scope; readonly prefix: "max" | `max-${Direction}` }[] = [
  { scope: "total", prefix: "max" },
  { scope: "inbound", prefix: "max-inbound" },
  { scope: "outbound", prefix: "max-outbound" },
];

function sessionLimits(params: AgentParams, meters: Meters): Limit[] {
  const concurrent: Limit[] = [];
  const burst: Limit[] = [];
  const sustained: Limit[] = [];
  for (const { scope, prefix } of scopes) {
    const sessions = `${prefix}-sessions` as const;
    const burstRate = `${prefix}-burst-rate` as const;
    const sustainRate = `${prefix}-sustain-rate` as const;
    if (params[sessions] > 0) concurrent.push(new ConcurrentLimit(sessions, scope, params[sessions], meters.sessions));
    if (params[burstRate] > 0) burst.push(new BurstLimit(burstRate, scope, params[burstRate], meters.attempts.burst));
    if (params[sustainRate] > 0) {
      sustained.push(new SustainedLimit(sustainRate, scope, params[sustainRate], meters.attempts.sustain));
    }
  }
  const ratio = params["min-asr"] > 0 ? [meters.answerSeizure] : [];
  return [...concurrent, ...burst, ...sustained, ...ratio];
}

function requestLimits(params: AgentParams, meters: Meters): Map<string, Limit[]> {
  const limits = new Map<string, Limit[]>([["REGISTER", registerLimits(params, meters)]]);
  for (const constraint of params["rate-constraints"]) {
    limits.set(constraint.method, [...(limits.get(constraint.method) ?? []), ...methodLimits(constraint, meters)]);
  }
  return limits;
}

function registerLimits(params: AgentParams, { registers }: Meters): Limit[] {
  const { "max-register-burst-rate": burst, "max-register-sustain-rate": sustain } = params;
  return [
    ...(burst > 0 ? [new BurstLimit("max-register-burst-rate", "total", burst, registers.burst)] : []),
    ...(sustain > 0 ? [new SustainedLimit("max-register-sustain-rate", "total", sustain, registers.sustain)] : []),
  ];
}

function methodLimits(constraint: RateConstraint, meters: Meters): Limit[] {
  const windows = meters.method(constraint.method);
  if (!windows) return [];
  return (["inbound", "outbound"] as const).flatMap((scope) => {
    const burst = `max-${scope}-burst-rate` as const;
    const sustain = `max-${scope}-sustain-rate` as const;
    const name = <R extends string>(rate: R) => `rate-constraints.${constraint.method}.${rate}` as const;
    return [
      ...(constraint[burst] > 0 ? [new BurstLimit(name(burst), scope, constraint[burst], windows.burst)] : []),
      ...(constraint[sustain] > 0
        ? [new SustainedLimit(name(sustain), scope, constraint[sustain], windows.sustain)]
        : []),
    ];
  });
}
