import type { Clock, Ms } from "../clock.ts";
import { type Endpoint, endpointKey, inOrder, type Location } from "../location.ts";
import type { Evidence } from "./evidence.ts";
import { type Health, type HealthCause, isPinged } from "./health.ts";
import { type HealthFacts, HealthKeeper } from "./health-keeper.ts";
import { type Hold, isOn } from "./hold.ts";
import type { AgentParams } from "./params.ts";

/** How long an address that was silent is not preferred, where the parameters leave it to pings. */
const defaultAvoidance: Ms = 30_000;

/** One address of an agent. */
export interface AgentAddress {
  /** Undefined while it is not known where the agent's name leads: the signalling engine may know then. */
  readonly endpoint: Endpoint | undefined;
  readonly health: HealthKeeper;
  /** While others are tried first: it was silent, which is not yet a verdict on its health. */
  avoided: Hold | undefined;
  /** When a response last came from it. */
  lastActivity: Ms;
}

const bestFirst: readonly Health[] = ["in-service", "standby", "out-of-service"];

/**
 * The health of an agent that is known by name: each address has its own, and the agent is in service while any address
 * is (SEMANTICS section 4.3). A name that leads nowhere is out of service.
 */
export class AddressesHealth implements HealthFacts {
  readonly #clock: Clock;
  readonly #changed: (now: Ms) => void;
  #params: AgentParams;
  #location: Location = [];
  #addresses: ReadonlyMap<string, AgentAddress>;
  #state: HealthFacts["state"];
  /** Where the name leads nowhere. */
  #nowhere: HealthCause | undefined;

  constructor(params: AgentParams, clock: Clock, changed: (now: Ms) => void) {
    this.#params = params;
    this.#clock = clock;
    this.#changed = changed;
    const unknown = this.#address(undefined);
    this.#addresses = new Map([["", unknown]]);
    this.#state = unknown.health.state;
  }

  get state(): HealthFacts["state"] {
    return this.#state;
  }

  get dueAt(): Ms | undefined {
    const due = Array.from(this.#addresses.values(), ({ health }) => health.dueAt).filter((at) => at !== undefined);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  get addresses(): AgentAddress[] {
    return [...this.#addresses.values()];
  }

  /** The one address that is pinged where only one is: where the next request would go, or would if it were in service. */
  get foremost(): Endpoint | undefined {
    const first = (): number => 0;
    return this.route(first, this.#clock.now())[0] ?? inOrder(this.#location, first)[0];
  }

  /** Where the agent's name leads now. Addresses that stay keep their health. */
  locate(location: Location, now: Ms): void {
    const before = this.#addresses;
    const endpoints = location.flatMap((site) => site.endpoints);
    this.#location = location;
    this.#addresses = new Map(
      endpoints.map((endpoint) => {
        const key = endpointKey(endpoint);
        return [key, before.get(key) ?? this.#address(endpoint)];
      }),
    );
    this.#nowhere = undefined;
    for (const [key, { health }] of before) if (!this.#addresses.has(key)) health.stop();
    this.#derive({ reason: "resolved" }, now);
  }

  /** The agent's name leads nowhere: what its addresses were is no more. */
  lose(detail: string, now: Ms): void {
    this.stop();
    this.#location = [];
    this.#addresses = new Map();
    this.#nowhere = { reason: "name-failure", detail };
    this.#derive(this.#nowhere, now);
  }

  /** The endpoints that a request tries, in order: those that are in service, and of these last the ones that were silent. */
  route(random: () => number, now: Ms): Endpoint[] {
    const good: Endpoint[] = [];
    const silent: Endpoint[] = [];
    for (const endpoint of inOrder(this.#location, random)) {
      const address = this.#addresses.get(endpointKey(endpoint));
      if (address?.health.state.health === "in-service") (isOn(address.avoided, now) ? silent : good).push(endpoint);
    }
    return good.concat(silent);
  }

  observe(evidence: Evidence, now: Ms): void {
    const address = this.#addresses.get(evidence.endpoint ? endpointKey(evidence.endpoint) : "");
    if (!address) return;
    if (evidence.kind === "response") {
      address.avoided = undefined;
      address.lastActivity = now;
    } else this.#avoid(address, now);
    address.health.observe(evidence, now);
  }

  /** Nothing came from there within the patience of a call. */
  silent(endpoint: Endpoint, now: Ms): void {
    const address = this.#addresses.get(endpointKey(endpoint));
    if (address) this.#avoid(address, now);
  }

  configure(params: AgentParams, now: Ms): void {
    this.#params = params;
    for (const { health } of this.#addresses.values()) health.configure(params, now);
  }

  stop(): void {
    for (const { health } of this.#addresses.values()) health.stop();
  }

  #avoid(address: AgentAddress, now: Ms): void {
    const seconds = this.#params["ttr-no-response"] || this.#params["time-to-resume"];
    address.avoided = { from: now, until: now + (seconds * 1_000 || defaultAvoidance) };
  }

  #address(endpoint: Endpoint | undefined): AgentAddress {
    const health: HealthKeeper = new HealthKeeper(this.#params, this.#clock, (now) => {
      this.#derive(health.state.cause, now);
    });
    // A name that led nowhere is back when an address of it answers, where it is asked (SEMANTICS section 4.1).
    if (this.#nowhere && isPinged(this.#params)) health.begin("out-of-service", this.#nowhere, this.#clock.now());
    return { endpoint, health, avoided: undefined, lastActivity: Number.NEGATIVE_INFINITY };
  }

  #derive(cause: HealthCause, now: Ms): void {
    const found = new Set(Array.from(this.#addresses.values(), ({ health }) => health.state.health));
    const health = bestFirst.find((each) => found.has(each)) ?? "out-of-service";
    if (health === this.#state.health) return;
    this.#state = { health, cause };
    this.#changed(now);
  }
}
