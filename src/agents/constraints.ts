import type { Ms } from "../clock.ts";
import type { AdmitRequest } from "./admission.ts";
import { BurstLimit } from "./burst-limit.ts";
import { ConcurrentLimit } from "./concurrent-limit.ts";
import type { Exceeded, Limit, LimitName } from "./limit.ts";
import {
  burstLimits,
  concurrentLimits,
  methodBurstLimits,
  methodLimitName,
  methodSustainLimits,
  rowsOf,
  sustainLimits,
} from "./limit-names.ts";
import type { Meters } from "./meters.ts";
import type { AgentParams, RateConstraint } from "./params.ts";
import type { RetryAfterHold } from "./retry-after-hold.ts";
import { SustainedLimit } from "./sustained-limit.ts";

const noneExceeded: readonly Exceeded[] = [];
const noLimits: readonly Limit[] = [];
const noMethods: readonly MethodLimits[] = [];

/** What a request of one method needs room in. */
interface MethodLimits {
  readonly method: string;
  readonly limits: Limit[];
}

/**
 * The limits of one agent that are on. Stateless but for the counters they read, and made anew when the configuration
 * changes. A limit of 0 has no object here, so 0 means "no limit" on every path.
 */
export class Constraints {
  /** What a session needs room in, in the order in which they are named as the reason. */
  readonly #session: readonly Limit[];
  /** Of the methods other than INVITE that have limits. */
  readonly #methods: readonly MethodLimits[];

  constructor(params: AgentParams, meters: Meters, retryAfter: RetryAfterHold) {
    const session: Limit[] = [];
    const byMethod = new Map<string, MethodLimits>();
    if (params.constraints === "enabled") {
      addSessionLimits(session, params, meters);
      addLimits(byMethod, "REGISTER", registerLimits(params, meters));
      for (const each of params["rate-constraints"]) {
        const limits = methodLimits(each, meters);
        if (each.method === "INVITE") session.push(...limits);
        else addLimits(byMethod, each.method, limits);
      }
    }
    // Retry-After is the agent's own wish, not one of the limits that `constraints: disabled` turns off.
    this.#session = [...session, retryAfter];
    this.#methods = byMethod.size > 0 ? [...byMethod.values()] : noMethods;
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

  /** Session attempts that change nothing about `firstFull` and `turnsAt`, all made before the sustain window ends. */
  spare(now: Ms): number {
    let least = Number.POSITIVE_INFINITY;
    for (const limit of this.#session) least = Math.min(least, limit.spare(now));
    return least;
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

  /** The limits that refuse this request now. A session sent needs room in all, any other request in those of its direction. */
  refusing(request: AdmitRequest, now: Ms): readonly Exceeded[] {
    let found: Exceeded[] | undefined;
    const { method, direction } = request;
    const isSession = method === "INVITE";
    for (const limit of isSession ? this.#session : this.#limitsOf(method)) {
      const concerned = (isSession && direction === "outbound") || limit.scope === "total" || limit.scope === direction;
      if (!concerned || !limit.full(now) || isWaived(limit.name, request)) continue;
      found ??= [];
      found.push({ limit: limit.name, value: limit.value(now), maximum: limit.maximum });
    }
    return found ?? noneExceeded;
  }

  /** The named session limit as it stands; maximum 0 when it is no longer on. */
  measure(name: LimitName, now: Ms): Exceeded {
    const limit = this.#session.find((each) => each.name === name);
    return { limit: name, value: limit?.value(now) ?? 0, maximum: limit?.maximum ?? 0 };
  }

  #limitsOf(method: string): readonly Limit[] {
    for (const each of this.#methods) if (each.method === method) return each.limits;
    return noLimits;
  }
}

function isWaived(name: LimitName, request: AdmitRequest): boolean {
  if (name === "retry-after") return request.ignoreRetryAfter === true;
  if (request.answersChallenge !== true) return false;
  return name.startsWith("rate-constraints.") || name.startsWith("max-register-");
}

function addSessionLimits(limits: Limit[], params: AgentParams, { sessions, attempts, answerSeizure }: Meters): void {
  for (const [name, scope] of rowsOf(concurrentLimits)) {
    if (params[name] > 0) limits.push(new ConcurrentLimit(name, scope, params[name], sessions));
  }
  for (const [name, scope] of rowsOf(burstLimits)) {
    if (params[name] > 0) limits.push(new BurstLimit(name, scope, params[name], attempts));
  }
  for (const [name, scope] of rowsOf(sustainLimits)) {
    if (params[name] > 0) limits.push(new SustainedLimit(name, scope, params[name], attempts));
  }
  if (params["min-asr"] > 0) limits.push(answerSeizure);
}

function addLimits(byMethod: Map<string, MethodLimits>, method: string, limits: readonly Limit[]): void {
  if (limits.length === 0) return;
  byMethod.set(method, { method, limits: [...(byMethod.get(method)?.limits ?? []), ...limits] });
}

function registerLimits(params: AgentParams, { registers }: Meters): Limit[] {
  const { "max-register-burst-rate": burst, "max-register-sustain-rate": sustain } = params;
  const limits: Limit[] = [];
  if (burst > 0) limits.push(new BurstLimit("max-register-burst-rate", "total", burst, registers));
  if (sustain > 0) limits.push(new SustainedLimit("max-register-sustain-rate", "total", sustain, registers));
  return limits;
}

function methodLimits(constraint: RateConstraint, meters: Meters): Limit[] {
  const limits: Limit[] = [];
  const attempts = meters.method(constraint.method);
  for (const [rate, scope] of rowsOf(methodBurstLimits)) {
    const name = methodLimitName(constraint.method, rate);
    if (constraint[rate] > 0) limits.push(new BurstLimit(name, scope, constraint[rate], attempts));
  }
  for (const [rate, scope] of rowsOf(methodSustainLimits)) {
    const name = methodLimitName(constraint.method, rate);
    if (constraint[rate] > 0) limits.push(new SustainedLimit(name, scope, constraint[rate], attempts));
  }
  return limits;
}
