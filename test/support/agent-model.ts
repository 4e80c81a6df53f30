import type { AgentParams } from "../../src/agents/params.ts";
import type { AdmitRequest, Direction, StateLetter } from "../../src/agents/session-agent.ts";
import type { CodeRange } from "../../src/params.ts";

interface Attempt {
  readonly at: number;
  readonly direction: Direction;
  readonly method: string;
  /** new: a session or a new REGISTER; else a re-INVITE or an answer to a challenge. */
  readonly isNew: boolean;
}

export interface Answer {
  readonly purpose: "traffic" | "ping";
  readonly status: number;
  readonly createsDialog?: boolean;
}

type Wanted = (attempt: Attempt) => boolean;

/**
 * SEMANTICS sections 2 to 4 and the hold of section 8, in the plainest way: it remembers every attempt and works each
 * answer out from all of them. Slow, and shares no code with what it is compared to.
 */
export class AgentModel {
  params: AgentParams;
  admin: "enabled" | "draining" | "disabled" = "enabled";
  readonly active = { inbound: 0, outbound: 0 };
  readonly #attempts: Attempt[] = [];
  readonly #answers: number[] = [];
  #asrTrippedAt: number | undefined;
  #asrFreshSince = 0;
  #retryAfterUntil = 0;
  #health: "in-service" | "out-of-service" | "standby" = "in-service";
  #healthSince = 0;
  #cause: "silence" | "code" | "name" = "silence";
  #timeouts = 0;
  #failedPings = 0;
  #goodPings = 0;

  constructor(params: AgentParams) {
    this.params = params;
  }

  /** Time has come to `now`: timers that fell due on the way have their effect at their own moment. */
  pass(now: number): void {
    if (this.#health === "out-of-service") {
      const waitMs = this.#timeToResume() * 1000;
      if (waitMs > 0 && now >= this.#healthSince + waitMs) this.#return(this.#healthSince + waitMs);
    }
    if (this.#health === "standby") {
      const at = this.#healthSince + this.params["in-service-period"] * 1000;
      if (now >= at) this.#enter("in-service", at);
    }
    const heldUntil = (this.#asrTrippedAt ?? Number.NaN) + this.params["time-to-resume"] * 1000;
    if (now >= heldUntil) {
      this.#asrTrippedAt = undefined;
      this.#asrFreshSince = heldUntil;
    }
  }

  letter(now: number): StateLetter {
    if (this.admin !== "enabled") return "D";
    if (this.#health === "out-of-service") return "O";
    if (this.#health === "standby") return "S";
    return this.#fullForSession(now, ["inbound", "outbound"]).length > 0 ? "C" : "I";
  }

  /** undefined = admitted; else the limits that refuse, in no order. */
  refuses(request: AdmitRequest, now: number): string[] | undefined {
    if (request.exempt) return undefined;
    const letter = this.letter(now);
    if (request.direction === "outbound" && (letter === "O" || letter === "S" || letter === "D")) return [];
    const inAll = request.direction === "outbound";
    let full =
      request.method === "INVITE"
        ? this.#fullForSession(now, inAll ? ["inbound", "outbound"] : ["inbound"])
        : this.#fullForRequest(request, now);
    if (request.answersChallenge) {
      full = full.filter((name) => !name.startsWith("rate-constraints.") && !name.startsWith("max-register"));
    }
    return full.length > 0 ? full : undefined;
  }

  admit({ method, direction, exempt, answersChallenge }: AdmitRequest, now: number): void {
    const isNew = !exempt && (method === "INVITE" || !answersChallenge);
    this.#attempts.push({ at: now, direction, method, isNew });
    if (method !== "INVITE" || !isNew) return;
    this.active[direction]++;
    if (direction === "outbound") this.#judgeRatio(now);
  }

  answered(now: number): void {
    this.#answers.push(now);
  }

  response(answer: Answer, now: number): void {
    const isOut = this.#health === "out-of-service";
    if (this.#isListed(answer)) {
      if (!isOut) this.#goOut("code", now);
      else if (answer.purpose === "ping") this.#goodPings = 0;
      return;
    }
    this.#timeouts = 0;
    if (answer.purpose === "traffic") return;
    this.#failedPings = 0;
    if (isOut && ++this.#goodPings >= this.params["ping-success-threshold"]) this.#return(now);
  }

  retryAfter(seconds: number, now: number): void {
    const capped = Math.min(seconds, this.params["max-retry-after"]);
    this.#retryAfterUntil = Math.max(this.#retryAfterUntil, now + capped * 1000);
  }

  timeout(purpose: "traffic" | "ping", now: number): void {
    if (purpose === "traffic" && this.params["trans-timeouts"] === 0) return;
    if (this.#health === "out-of-service") {
      if (purpose === "ping") this.#goodPings = 0;
      return;
    }
    const count = purpose === "traffic" ? ++this.#timeouts : ++this.#failedPings;
    const threshold = this.params[purpose === "traffic" ? "trans-timeouts" : "ping-failure-threshold"];
    if (count >= threshold || this.#health === "standby") this.#goOut("silence", now);
  }

  transportFailure(purpose: "traffic" | "ping", now: number): void {
    if (this.#health === "out-of-service") {
      if (purpose === "ping") this.#goodPings = 0;
    } else if (purpose === "ping" || this.params["trans-timeouts"] > 0) this.#goOut("silence", now);
  }

  nameFailure(now: number): void {
    if (this.#health === "out-of-service") this.#goodPings = 0;
    else this.#goOut("name", now);
  }

  #goOut(cause: "silence" | "code" | "name", now: number): void {
    this.#enter("out-of-service", now);
    this.#cause = cause;
  }

  /** Seconds; 0 = never by timer. */
  #timeToResume(): number {
    const { params } = this;
    if (this.#cause === "name" && params["ping-method"] !== "" && params["ping-interval"] > 0) return 0;
    return (this.#cause !== "code" && params["ttr-no-response"]) || params["time-to-resume"];
  }

  /** A code of the list that takes an agent out in its mode. */
  #isListed({ purpose, status, createsDialog }: Answer): boolean {
    const { params } = this;
    const covers = (list: readonly CodeRange[]): boolean => list.some(({ from, to }) => from <= status && status <= to);
    if (purpose === "ping" && covers(params["ping-in-service-response-codes"])) return false;
    if (params["ping-send-mode"] === "continuous") {
      return purpose === "ping" && covers(params["ping-out-service-response-codes"]);
    }
    return (purpose === "ping" || createsDialog === true) && covers(params["out-service-response-codes"]);
  }

  #return(now: number): void {
    this.#enter(this.params["in-service-period"] > 0 ? "standby" : "in-service", now);
  }

  #enter(health: "in-service" | "out-of-service" | "standby", now: number): void {
    this.#health = health;
    this.#healthSince = now;
    this.#timeouts = this.#failedPings = this.#goodPings = 0;
  }

  #judgeRatio(now: number): void {
    const minimum = this.params["min-asr"];
    if (minimum === 0) return;
    const windowMs = this.params["sustain-rate-window"] * 1000;
    const since = Math.max(Math.floor(now / windowMs) * windowMs, this.#asrFreshSince);
    const attempts = this.#attempts.filter(
      (each) => each.at >= since && each.direction === "outbound" && each.method === "INVITE" && each.isNew,
    ).length;
    const answers = this.#answers.filter((at) => at >= since).length;
    const seizures = this.params["min-seizures"];
    const tooLow =
      answers === 0 ? attempts >= seizures + 1 : attempts >= seizures && answers * 100 < minimum * attempts;
    if (tooLow) this.#asrTrippedAt = now;
  }

  #fullForSession(now: number, directions: readonly Direction[]): string[] {
    const { params } = this;
    const outbound = directions.includes("outbound");
    const full: string[] = [];
    if (params.constraints === "enabled") {
      for (const scope of ["total", ...directions] as const) {
        const prefix = scope === "total" ? "max" : (`max-${scope}` as const);
        const active = scope === "total" ? this.active.inbound + this.active.outbound : this.active[scope];
        const wanted: Wanted = (each) =>
          each.method === "INVITE" && each.isNew && (scope === "total" || each.direction === scope);
        const maximum = params[`${prefix}-sessions`];
        if (maximum > 0 && active >= maximum) full.push(`${prefix}-sessions`);
        if (this.#burst(wanted, params[`${prefix}-burst-rate`], "burst-rate-window", now))
          full.push(`${prefix}-burst-rate`);
        if (this.#sustained(wanted, params[`${prefix}-sustain-rate`], now)) full.push(`${prefix}-sustain-rate`);
      }
      if (outbound && this.#asrTrippedAt !== undefined) full.push("min-asr");
      full.push(...this.#fullForMethod("INVITE", directions, now));
    }
    if (outbound && now < this.#retryAfterUntil) full.push("retry-after");
    return full;
  }

  #fullForRequest({ method, direction }: AdmitRequest, now: number): string[] {
    const { params } = this;
    if (params.constraints !== "enabled") return [];
    const full = this.#fullForMethod(method, [direction], now);
    if (method === "REGISTER") {
      const wanted: Wanted = (each) => each.method === "REGISTER" && each.isNew;
      const { "max-register-burst-rate": burst, "max-register-sustain-rate": sustain } = params;
      if (this.#burst(wanted, burst, "register-burst-window", now)) full.push("max-register-burst-rate");
      if (this.#sustained(wanted, sustain, now)) full.push("max-register-sustain-rate");
    }
    return full;
  }

  #fullForMethod(method: string, directions: readonly Direction[], now: number): string[] {
    const full: string[] = [];
    for (const constraint of this.params["rate-constraints"].filter((each) => each.method === method)) {
      for (const direction of directions) {
        const wanted: Wanted = (each) => each.method === method && each.direction === direction;
        const name = `rate-constraints.${method}.max-${direction}`;
        const burst = constraint[`max-${direction}-burst-rate`];
        const sustain = constraint[`max-${direction}-sustain-rate`];
        if (this.#burst(wanted, burst, "burst-rate-window", now)) full.push(`${name}-burst-rate`);
        if (this.#sustained(wanted, sustain, now)) full.push(`${name}-sustain-rate`);
      }
    }
    return full;
  }

  /** Attempts in the current fixed window ≥ rate × window. */
  #burst(wanted: Wanted, rate: number, window: "burst-rate-window" | "register-burst-window", now: number): boolean {
    const lengthS = this.params[window];
    if (rate === 0) return false;
    return this.#inWindow(wanted, lengthS, Math.floor(now / (lengthS * 1000))) >= rate * lengthS;
  }

  /** (previous window + current window + 1) / (window + elapsed in current) > rate. */
  #sustained(wanted: Wanted, rate: number, now: number): boolean {
    if (rate === 0) return false;
    const lengthS = this.params["sustain-rate-window"];
    const window = Math.floor(now / (lengthS * 1000));
    const elapsedS = now / 1000 - window * lengthS;
    const attempts = this.#inWindow(wanted, lengthS, window - 1) + this.#inWindow(wanted, lengthS, window) + 1;
    return attempts / (lengthS + elapsedS) > rate * (1 + 1e-9);
  }

  #inWindow(wanted: Wanted, lengthS: number, window: number): number {
    let count = 0;
    for (const each of this.#attempts) {
      if (Math.floor(each.at / (lengthS * 1000)) === window && wanted(each)) count++;
    }
    return count;
  }
}
