import type { Clock } from "../clock.ts";
import type { AgentEvents } from "./agent-events.ts";
import type { AgentParams } from "./params.ts";
import type { Pinger } from "./pinger.ts";
import { SessionAgent } from "./session-agent.ts";

export interface AgentManagerDeps {
  readonly clock: Clock;
  /** [0, 1): spreads the pings. */
  readonly random: () => number;
  readonly events: AgentEvents;
}

/** Every session agent by name and by where its requests come from. */
export class AgentManager {
  readonly events: AgentEvents;
  readonly #deps: AgentManagerDeps;
  readonly #byName = new Map<string, SessionAgent>();
  #bySource: ReadonlyMap<string, readonly SessionAgent[]> = new Map();
  /** Made when it is first asked for. */
  #byTarget: ReadonlyMap<string, SessionAgent> | undefined;
  #pinger: Pinger | undefined;

  constructor(agents: readonly AgentParams[], deps: AgentManagerDeps) {
    this.#deps = deps;
    this.events = deps.events;
    this.configure(agents);
  }

  get size(): number {
    return this.#byName.size;
  }

  [Symbol.iterator](): Iterator<SessionAgent> {
    return this.#byName.values();
  }

  get(hostname: string): SessionAgent | undefined {
    return this.#byName.get(hostname);
  }

  /**
   * The agent that a request from this source is from: the one at the address and port; else the one agent at the
   * address, as TCP and some carriers send from other ports than they listen on. Several at one address are told apart
   * by port alone. `address` is numeric, IPv6 in the form that the configuration has.
   */
  bySource(address: string, port: number, realm: string): SessionAgent | undefined {
    const there = this.#bySource.get(sourceKey(address, realm));
    if (!there) return undefined;
    return there.find((agent) => agent.params.port === port) ?? (there.length === 1 ? there[0] : undefined);
  }

  /** The agent that requests to this address or name, and port, go to. `host` as in `bySource`, or a hostname. */
  byTarget(host: string, port: number): SessionAgent | undefined {
    this.#byTarget ??= byTarget(this.#byName.values());
    return this.#byTarget.get(targetKey(host, port));
  }

  /** Makes the agents those of `agents`: known ones take their new parameters and keep their counts and health. */
  configure(agents: readonly AgentParams[]): void {
    const wanted = new Set(agents.map((params) => params.hostname));
    for (const [hostname, agent] of this.#byName) {
      if (wanted.has(hostname)) continue;
      agent.stop();
      this.#byName.delete(hostname);
    }
    for (const params of agents) {
      const known = this.#byName.get(params.hostname);
      if (known) known.configure(params);
      else this.#byName.set(params.hostname, this.#make(params));
    }
    this.#bySource = bySource(this.#byName.values());
    this.#byTarget = undefined;
  }

  /** Pings every agent that is configured to be pinged, from now on. */
  startPings(pinger: Pinger): void {
    this.#pinger = pinger;
    for (const agent of this.#byName.values()) agent.startPings(pinger, this.#deps.random);
  }

  /** Sets every timer free and sends no more pings. */
  stop(): void {
    for (const agent of this.#byName.values()) agent.stop();
  }

  #make(params: AgentParams): SessionAgent {
    const agent = new SessionAgent(params, this.#deps);
    if (this.#pinger) agent.startPings(this.#pinger, this.#deps.random);
    return agent;
  }
}

function bySource(agents: Iterable<SessionAgent>): Map<string, SessionAgent[]> {
  const found = new Map<string, SessionAgent[]>();
  for (const agent of agents) {
    const { "ip-address": address, "realm-id": realm } = agent.params;
    if (address === "") continue;
    const key = sourceKey(address, realm || "default");
    found.set(key, [...(found.get(key) ?? []), agent]);
  }
  return found;
}

/** The first of several at one place. */
function byTarget(agents: Iterable<SessionAgent>): Map<string, SessionAgent> {
  const found = new Map<string, SessionAgent>();
  for (const agent of agents) {
    const key = targetKey(agent.params["ip-address"] || agent.hostname, agent.params.port);
    if (!found.has(key)) found.set(key, agent);
  }
  return found;
}

const targetKey = (host: string, port: number): string => `${host.toLowerCase()} ${port || 5060}`;

const sourceKey = (address: string, realm: string): string => `${realm} ${address}`;
