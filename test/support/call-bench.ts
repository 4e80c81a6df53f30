import { pino } from "pino";
import { AgentEvents } from "../../src/agents/agent-events.ts";
import { AgentManager } from "../../src/agents/agent-manager.ts";
import type { AgentParams } from "../../src/agents/params.ts";
import type { SessionAgent } from "../../src/agents/session-agent.ts";
import { CallManager, type CallManagerConfig, type CallManagerParts } from "../../src/calls/call-manager.ts";
import type { SessionLimits } from "../../src/config/config.ts";
import { defaultsOf } from "../../src/params.ts";
import { type FailoverParams, failoverParams, groupParams, type PolicyParams } from "../../src/routing/params.ts";
import { Router } from "../../src/routing/router.ts";
import { agentWith } from "./agents.ts";
import { type FakeExchange, FakeRequest, FakeSignalling } from "./fake-signalling.ts";
import { ManualClock } from "./manual-clock.ts";
import { policyWith } from "./routing.ts";

export interface BenchOptions {
  readonly agents?: readonly Partial<AgentParams>[];
  readonly failover?: Partial<FailoverParams>;
  readonly realm?: Partial<CallManagerConfig["realms"][number]>;
  readonly responses?: CallManagerConfig["local-response-map"];
  readonly rules?: Pick<CallManagerConfig, "header-rules">;
  readonly sessions?: SessionLimits;
  readonly overload?: CallManagerParts["overload"];
  /** No policy at all. */
  readonly noRoute?: boolean;
  /** Instead of the one that all calls go by. */
  readonly policies?: readonly PolicyParams[];
  /** One next hop that is no agent, instead of the agents. */
  readonly address?: string;
}

const callerHeaders = {
  "call-id": "in-1",
  from: '"Alice" <sip:alice@127.0.0.31:5060>;tag=theirs',
  to: "<sip:100@127.0.0.2:5060>",
  cseq: "1 INVITE",
  "max-forwards": "70",
  contact: "<sip:alice@127.0.0.31:5060>",
};

export const offer = "v=0 offer";
export const answer = "v=0 answer";

/** Calls over agents a, b, … hunted in order, with a fake engine and virtual time. */
export class CallBench {
  readonly clock = new ManualClock();
  readonly signalling = new FakeSignalling();
  readonly agents: AgentManager;
  readonly router: Router;
  readonly calls: CallManager;
  readonly defects: unknown[] = [];
  readonly logged: Record<string, unknown>[] = [];

  constructor(options: BenchOptions = {}) {
    const names = (options.agents ?? [{}, {}]).map((params, index) =>
      agentWith({ hostname: "abcdef"[index] ?? "z", "ip-address": `127.0.0.${11 + index}`, ...params }),
    );
    const events = new AgentEvents();
    events.on("defect", (error) => this.defects.push(error));
    const random = () => 0.5;
    this.agents = new AgentManager(names, { clock: this.clock, random, events });
    this.router = new Router(
      {
        groups: [
          { ...defaultsOf(groupParams), "group-name": "g", dest: names.map((agent) => agent.hostname), failover: {} },
        ],
        policies: options.noRoute ? [] : (options.policies ?? [policyWith("*", options.address ?? "SAG:g")]),
        failover: { ...defaultsOf(failoverParams), ...options.failover },
      },
      this.agents,
    );
    const log = pino({ level: "info" }, { write: (line: string) => this.logged.push(JSON.parse(line)) });
    this.calls = new CallManager(
      {
        realms: [{ identifier: "default", listen: [], allow: "any", ...options.realm }],
        "retry-after": { min: 2, max: 6 },
        ...(options.responses && { "local-response-map": options.responses }),
        ...options.rules,
        ...(options.sessions && { sessions: options.sessions }),
      },
      {
        ...{ signalling: this.signalling, agents: this.agents, router: this.router, clock: this.clock, random, log },
        ...(options.overload && { overload: options.overload }),
      },
    );
  }

  agent(name: string): SessionAgent {
    const agent = this.agents.get(name);
    if (!agent) throw new Error(`no agent ${name}`);
    return agent;
  }

  /** Sessions up at each agent, inbound and outbound together, in order. */
  get sessions(): number[] {
    return Array.from(
      { [Symbol.iterator]: () => this.agents[Symbol.iterator]() },
      (agent) => agent.inboundActive + agent.outboundActive,
    );
  }

  invite(options: Partial<Omit<FakeRequest, "method">> = {}): FakeRequest {
    const request = new FakeRequest("INVITE", {
      body: offer,
      ...options,
      headers: { ...callerHeaders, ...options.headers },
    });
    this.calls.invite(request);
    return request;
  }

  /** A request within the caller's dialog, from the caller. */
  fromCaller(method: string, options: Partial<Omit<FakeRequest, "method">> = {}): FakeRequest {
    return this.within("in-1;from-tag=theirs", method, options);
  }

  /** A request within the agent's dialog, from the agent. */
  fromAgent(method: string, options: Partial<Omit<FakeRequest, "method">> = {}): FakeRequest {
    return this.within(this.signalling.last("INVITE").dialogId, method, options);
  }

  ackFromCaller(body = ""): void {
    this.calls.ack({
      dialogId: "in-1;from-tag=theirs",
      headers: body ? { "content-type": "application/sdp" } : {},
      body,
    });
  }

  /** A call answered and acknowledged: the caller's INVITE and the agent's. */
  talk(): { caller: FakeRequest; agent: FakeExchange } {
    const caller = this.invite();
    const agent = this.signalling.last("INVITE");
    agent.respond(180);
    agent.respond(200, { body: answer });
    this.ackFromCaller();
    return { caller, agent };
  }

  /** A request within a dialog, or "" where the engine names none. */
  within(dialogId: string, method: string, options: Partial<Omit<FakeRequest, "method">> = {}): FakeRequest {
    const request = new FakeRequest(method, { ...options, dialogId });
    this.calls.request(request);
    return request;
  }
}
