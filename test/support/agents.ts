import { AgentEvents } from "../../src/agents/agent-events.ts";
import { AgentManager } from "../../src/agents/agent-manager.ts";
import { type AgentParams, agentParams } from "../../src/agents/params.ts";
import type { Exceeded, Lease, SessionAgent, StateChange } from "../../src/agents/session-agent.ts";
import type { WeirError } from "../../src/errors.ts";
import { defaultsOf } from "../../src/params.ts";
import { ManualClock } from "./manual-clock.ts";

/** An agent's parameters: the defaults but for what is given. */
export function agentWith(params: Partial<AgentParams> = {}): AgentParams {
  return {
    ...defaultsOf(agentParams),
    hostname: "carrier-a",
    "ip-address": "192.0.2.1",
    "rate-constraints": [],
    ...params,
  };
}

/** `rate-constraints` of one method: no limit but for what is given. */
export const rates = (
  method: "INVITE" | "MESSAGE" | "REGISTER",
  more: Partial<AgentParams["rate-constraints"][number]>,
) => [
  {
    method,
    "max-inbound-burst-rate": 0,
    "max-outbound-burst-rate": 0,
    "max-inbound-sustain-rate": 0,
    "max-outbound-sustain-rate": 0,
    ...more,
  },
];

/** A clock that may jump: `now` moves at once, and no timer has fired for it. Timers set before are late by as much. */
export class JumpingClock extends ManualClock {
  #jumped = 0;

  override now(): number {
    return super.now() + this.#jumped;
  }

  jump(by: number): void {
    this.#jumped += by;
  }
}

/** One agent on a clock moved by hand, and everything it announced. */
export class AgentBench {
  readonly clock: JumpingClock;
  readonly events = new AgentEvents();
  readonly manager: AgentManager;
  readonly agent: SessionAgent;
  readonly changes: StateChange[] = [];
  readonly exceeded: Exceeded[] = [];
  readonly defects: WeirError[] = [];

  /** Starts at 60,000 ms: on the boundary of every window whose length divides a minute. */
  constructor(params: Partial<AgentParams> = {}, startAt = 60_000) {
    this.clock = new JumpingClock(startAt);
    this.events.on("state-changed", (change) => this.changes.push(change));
    this.events.on("limit-exceeded", (_, exceeded) => this.exceeded.push(exceeded));
    this.events.on("defect", (error) => this.defects.push(error));
    this.manager = new AgentManager([agentWith(params)], { clock: this.clock, random: () => 0.5, events: this.events });
    const [agent] = this.manager;
    if (!agent) throw new Error("the manager lost its agent");
    this.agent = agent;
  }

  /** The lease of an admitted session; undefined when it was refused. */
  session(direction: "inbound" | "outbound" = "outbound"): Lease | undefined {
    return this.request("INVITE", direction);
  }

  request(
    method: string,
    direction: "inbound" | "outbound",
    more: { exempt?: boolean; answersChallenge?: boolean } = {},
  ) {
    const admission = this.agent.admit({ direction, method, ...more });
    return admission.admitted ? admission.lease : undefined;
  }

  /** How many of `attempts` sessions are admitted; each is released at once. */
  admitted(attempts: number, direction: "inbound" | "outbound" = "outbound"): number {
    return this.requests("INVITE", attempts, direction);
  }

  requests(method: string, attempts: number, direction: "inbound" | "outbound"): number {
    let admitted = 0;
    for (let i = 0; i < attempts; i++) {
      const lease = this.request(method, direction);
      lease?.release("bye");
      if (lease) admitted++;
    }
    return admitted;
  }

  /** `I>C max-sessions` for each change so far. */
  get story(): string[] {
    return this.changes.map(({ from, to, reason }) => `${from}>${to} ${reason}`);
  }
}
