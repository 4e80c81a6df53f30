import { endpointKey } from "../location.ts";
import type { AgentAddress } from "./addresses-health.ts";
import { AgentPings, type LastPing, type PingDeps, type PingedAgent } from "./agent-pings.ts";

/** What is pinged of an agent: itself, or each of its addresses where it has any by its name. */
export interface PingedAddresses extends PingedAgent {
  /** Undefined where the parameters tell the only one; empty while its name leads nowhere. */
  readonly addresses: readonly AgentAddress[] | undefined;
}

/** Pings every address of an agent, each by a schedule of its own, so that a dead one cannot hide behind the others. */
export class AddressPings {
  readonly #agent: PingedAddresses;
  readonly #deps: PingDeps;
  #pings = new Map<string, AgentPings>();
  #running = false;

  constructor(agent: PingedAddresses, deps: PingDeps) {
    this.#agent = agent;
    this.#deps = deps;
  }

  /** Of the newest ping to any address. */
  get last(): LastPing | undefined {
    let newest: LastPing | undefined;
    for (const { last } of this.#pings.values()) if (last && !(newest && newest.at > last.at)) newest = last;
    return newest;
  }

  /** Starts every schedule, or starts it anew with the parameters at hand. */
  start(): void {
    this.relocate();
    this.#running = true;
    for (const pings of this.#pings.values()) pings.start();
  }

  /** The agent's addresses have changed: the schedules of those that stay go on. */
  relocate(): void {
    const before = this.#pings;
    this.#pings = new Map();
    for (const [key, pinged] of this.#pinged()) {
      const known = before.get(key);
      const pings = known ?? new AgentPings(pinged, this.#deps);
      this.#pings.set(key, pings);
      if (!known && this.#running) pings.start();
    }
    for (const [key, pings] of before) if (!this.#pings.has(key)) pings.stop();
  }

  forget(): void {
    for (const pings of this.#pings.values()) pings.forget();
  }

  stop(): void {
    this.#running = false;
    for (const pings of this.#pings.values()) pings.stop();
  }

  #pinged(): (readonly [string, PingedAgent])[] {
    const agent = this.#agent;
    const { addresses } = agent;
    if (addresses === undefined) return [["", agent]];
    if (addresses.length > 0 && agent.params["ping-all-addresses"] === "disabled") return [["", agent]];
    return addresses.map((address) => {
      const { endpoint } = address;
      return endpoint ? [endpointKey(endpoint), new PingedAddress(agent, address)] : ["", agent];
    });
  }
}

/** One of several addresses as the schedule of its pings sees it. */
class PingedAddress implements PingedAgent {
  readonly #agent: PingedAddresses;
  readonly #address: AgentAddress;

  constructor(agent: PingedAddresses, address: AgentAddress) {
    this.#agent = agent;
    this.#address = address;
  }

  get params() {
    return this.#agent.params;
  }

  get admin() {
    return this.#agent.admin;
  }

  get endpoint() {
    return this.#address.endpoint;
  }

  get health() {
    return this.#address.health.state.health;
  }

  /** Traffic with one address says nothing of another. */
  get lastActivity() {
    const { addresses = [], lastActivity } = this.#agent;
    return addresses.length > 1 ? this.#address.lastActivity : lastActivity;
  }

  observe(evidence: Parameters<PingedAgent["observe"]>[0]): void {
    this.#agent.observe(evidence);
  }
}
