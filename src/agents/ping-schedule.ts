import type { Ms } from "../clock.ts";
import type { Health } from "./health.ts";
import type { AgentParams } from "./params.ts";
import type { AdminState } from "./state.ts";

/** What decides whether a ping is due (SEMANTICS section 4.3). */
export interface PingFacts {
  readonly params: AgentParams;
  readonly admin: AdminState;
  readonly health: Health;
  /** When a SIP transaction with the agent last took place. */
  readonly lastActivity: Ms;
}

/** To ping or not now, and when to decide again. */
export interface PingDecision {
  readonly ping: boolean;
  readonly nextAt: Ms;
}

/** The first decision: anywhere in the interval, so that agents started together are not pinged together. */
export function firstPingAt(params: AgentParams, now: Ms, random: () => number): Ms {
  return now + random() * intervalMs(params);
}

export function decidePing(facts: PingFacts, now: Ms, random: () => number): PingDecision {
  const interval = intervalMs(facts.params);
  // ±10 %, so that agents whose pings happen to fall together part again.
  const ping = (isDue: boolean): PingDecision => ({ ping: isDue, nextAt: now + interval * (0.9 + 0.2 * random()) });
  if (facts.admin === "disabled") return ping(false);
  // An agent that is not in service gets no traffic that could stand for a ping.
  if (facts.params["ping-send-mode"] === "continuous" || facts.health !== "in-service") return ping(true);
  const silentAt = facts.lastActivity + interval;
  // Activity that is yet to come was noted before the clock jumped back: it says nothing of this interval.
  if (silentAt <= now || facts.lastActivity > now) return ping(true);
  // Later than the silence by up to 10 %, never earlier: it must have lasted for the whole interval.
  return { ping: false, nextAt: silentAt + interval * 0.1 * random() };
}

const intervalMs = (params: AgentParams): Ms => params["ping-interval"] * 1000;
