import type { Clock } from "../clock.ts";
import type { Location } from "../location.ts";
import type { AgentEvents } from "./agent-events.ts";
import type { PingDeps } from "./agent-pings.ts";
import type { AgentParams } from "./params.ts";
import type { Pinger } from "./pinger.ts";
import { SessionAgent } from "./session-agent.ts";
import { Ticks } from "./ticks.ts";

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
  /** Made when they are first asked for. */
  #bySource: ReadonlyMap<string, readonly SessionAgent[]> | undefined;
  #byTarget: ReadonlyMap<string, SessionAgent> | undefined;
  #pings: PingDeps | undefined;

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
   * by port alone. `address` is numeric, IPv6 in the form that the configuration has. Of an agent known by name every
   * address is known that the name leads to.
   */
  bySource(address: string, port: number, realm: string): SessionAgent | undefined {
    this.#bySource ??= bySource(this.#byName.values());
    const there = this.#bySource.get(sourceKey(address, realm));
    if (!there || there.length === 1) return there?.[0];
    const listens = (agent: SessionAgent) =>
      placesOf(agent).some((own) => own.address === address && own.port === port);
    return there.find(listens);
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
    this.#reindex();
  }

  /**
   * Where the name of an agent leads now, or why it leads nowhere. True when its addresses are others than before, and not
   * merely in another order, as many DNS servers give them each time.
   */
  locate(hostname: string, found: Location | { readonly failure: string }): boolean {
    const agent = this.#byName.get(hostname);
    if (!agent) return false;
    const before = placesText(agent);
    agent.locate(found);
    const moved = placesText(agent) !== before;
    if (moved) this.#reindex();
    return moved;
  }

  /** The addresses that requests of a realm's agents come from. */
  sourcesOf(realm: string): string[] {
    const agents = [...this.#byName.values()].filter(({ params }) => realmOf(params) === realm);
    return [...new Set(agents.flatMap(placesOf).map(({ address }) => address))];
  }

  /** Pings every agent that is configured to be pinged, from now on. */
  startPings(pinger: Pinger): void {
    const { clock, random } = this.#deps;
    this.#pings = { clock, random, pinger, ticks: new Ticks(clock) };
    for (const agent of this.#byName.values()) agent.startPings(this.#pings);
  }

  /** Sets every timer free and sends no more pings. */
  stop(): void {
    for (const agent of this.#byName.values()) agent.stop();
  }

  #reindex(): void {
    this.#bySource = undefined;
    this.#byTarget = undefined;
  }

  #make(params: AgentParams): SessionAgent {
    const agent = new SessionAgent(params, this.#deps);
    if (this.#pings) agent.startPings(this.#pings);
    return agent;
  }
}

interface NumericPlace {
  readonly address: string;
  readonly port: number;
}

/** Every numeric address and port of an agent that is known now. */
function placesOf({ params, addresses }: SessionAgent): NumericPlace[] {
  if (!addresses) return [{ address: params["ip-address"], port: params.port }];
  return addresses.flatMap(({ endpoint }) => endpoint ?? []);
}

const placesText = (agent: SessionAgent): string =>
  placesOf(agent)
    .map(({ address, port }) => `${address} ${port}`)
    .sort()
    .join();

const realmOf = (params: AgentParams): string => params["realm-id"] || "default";

function bySource(agents: Iterable<SessionAgent>): Map<string, SessionAgent[]> {
  const found = new Map<string, SessionAgent[]>();
  for (const agent of agents) {
    for (const address of new Set(placesOf(agent).map((place) => place.address))) {
      const key = sourceKey(address, realmOf(agent.params));
      found.set(key, [...(found.get(key) ?? []), agent]);
    }
  }
  return found;
}

/** The first of several at one place. */
function byTarget(agents: Iterable<SessionAgent>): Map<string, SessionAgent> {
  const found = new Map<string, SessionAgent>();
  for (const agent of agents) {
    const named = agent.addresses ? [targetKey(agent.hostname, agent.params.port)] : [];
    for (const key of [...named, ...placesOf(agent).map(({ address, port }) => targetKey(address, port))]) {
      if (!found.has(key)) found.set(key, agent);
    }
  }
  return found;
}

const targetKey = (host: string, port: number): string => `${host.toLowerCase()} ${port || 5060}`;

const sourceKey = (address: string, realm: string): string => `${realm} ${address}`;
