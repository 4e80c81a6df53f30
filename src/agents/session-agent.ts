import type { Clock, Ms } from "../clock.ts";
import type { Endpoint, Location } from "../location.ts";
import { AddressPings } from "./address-pings.ts";
import { AddressesHealth, type AgentAddress } from "./addresses-health.ts";
import type { Admission, AdmitRequest, Refusal, Room } from "./admission.ts";
import type { AgentEvents } from "./agent-events.ts";
import type { PingDeps } from "./agent-pings.ts";
import { Constraints } from "./constraints.ts";
import type { Evidence } from "./evidence.ts";
import type { Health } from "./health.ts";
import { type HealthFacts, HealthKeeper } from "./health-keeper.ts";
import { Latency } from "./latency.ts";
import { SessionLease } from "./lease.ts";
import { Ledger } from "./ledger.ts";
import { Meters } from "./meters.ts";
import type { AgentParams } from "./params.ts";
import { Registration } from "./registration.ts";
import { RetryAfterHold } from "./retry-after-hold.ts";
import { type Facts, ShownState } from "./shown-state.ts";
import { type AgentSnapshot, snapshotOf } from "./snapshot.ts";
import type { AdminState, StateLetter, StateReason } from "./state.ts";
import { sustainedRate } from "./sustained-limit.ts";

export type { Admission, AdmitRequest, Refusal, Room } from "./admission.ts";
export type { Direction } from "./direction.ts";
export type { Evidence } from "./evidence.ts";
export type { Lease, ReleaseReason } from "./lease.ts";
export type { Exceeded, LimitName } from "./limit.ts";
export type { AgentSnapshot } from "./snapshot.ts";
export type { AdminState, StateChange, StateLetter } from "./state.ts";

export interface AgentDeps {
  readonly clock: Clock;
  readonly events: AgentEvents;
}

/** Parameters that the schedule of the pings hangs on. */
const pingKeys = ["ping-method", "ping-interval", "ping-send-mode"] as const;

const roomForOneMore: Room = { admitted: true };
const refusedBy = {
  O: { admitted: false, state: "O", exceeded: [] },
  S: { admitted: false, state: "S", exceeded: [] },
  D: { admitted: false, state: "D", exceeded: [] },
} as const satisfies Partial<Record<StateLetter, Refusal>>;

/**
 * A next-hop peer: its limits, its health, what people have set, and the one state that follows from the three
 * (SEMANTICS section 2). Everything here is synchronous: nothing awaits between check and take.
 */
export class SessionAgent {
  readonly hostname: string;
  readonly #clock: Clock;
  readonly #meters: Meters;
  readonly #retryAfter: RetryAfterHold;
  readonly #facts: Facts;
  readonly #shown: ShownState;
  readonly #ledger: Ledger;
  readonly #latency = new Latency();
  #params: AgentParams;
  #capacity: number;
  #lastActivity: Ms = Number.NEGATIVE_INFINITY;
  #pings: AddressPings | undefined;
  /** The health of an agent that is known by name alone. */
  #named: AddressesHealth | undefined;

  constructor(params: AgentParams, { clock, events }: AgentDeps) {
    this.hostname = params.hostname;
    this.#clock = clock;
    this.#params = params;
    this.#capacity = capacityOf(params);
    this.#meters = new Meters(params, clock.now());
    this.#retryAfter = new RetryAfterHold(params);
    this.#facts = {
      admin: params.state,
      registration: new Registration(needsRegistration(params), clock.now()),
      constraints: new Constraints(params, this.#meters, this.#retryAfter),
      meters: this.#meters,
      health: this.#newHealth(),
    };
    this.#shown = new ShownState(this.hostname, this.#facts, clock, events);
    this.#ledger = new Ledger(this.hostname, this.#meters, this.#shown, clock, events);
  }

  get params(): AgentParams {
    return this.#params;
  }

  get admin(): AdminState {
    return this.#facts.admin;
  }

  get health(): Health {
    return this.#facts.health.state.health;
  }

  get letter(): StateLetter {
    return this.#shown.letterAt(this.#clock.now());
  }

  get reason(): StateReason {
    return this.#shown.reasonAt(this.#clock.now());
  }

  /** Of an agent that is known by name alone; undefined where the parameters tell its address. */
  get addresses(): readonly AgentAddress[] | undefined {
    return this.#named?.addresses;
  }

  /** The address that is pinged where only one is; undefined where the parameters tell it. */
  get endpoint(): Endpoint | undefined {
    return this.#named?.foremost;
  }

  /** When the letter last changed, on the monotonic clock. */
  get since(): Ms {
    return this.#shown.since;
  }

  /** When a timer changes the state next, on the monotonic clock; undefined while none does. */
  get resumeAt(): Ms | undefined {
    const { registration, health, constraints } = this.#facts;
    if (registration.missing) return undefined;
    if (health.state.health !== "in-service") return health.dueAt;
    const now = this.#clock.now();
    const at = constraints.firstFull(now) ? constraints.turnsAt(now) : Number.POSITIVE_INFINITY;
    return Number.isFinite(at) ? at : undefined;
  }

  /** When a SIP transaction with the agent last took place, on the monotonic clock; -Infinity before the first. */
  get lastActivity(): Ms {
    return this.#lastActivity;
  }

  get inboundActive(): number {
    return this.#meters.sessions.active("inbound");
  }

  get outboundActive(): number {
    return this.#meters.sessions.active("outbound");
  }

  /** Sessions that may be sent to the agent at a time: max-outbound-sessions, else max-sessions; 0 = no limit. */
  get capacity(): number {
    return this.#capacity;
  }

  /** Session attempts sent per second, averaged over one to two sustain windows. */
  get outboundSustainRate(): number {
    return sustainedRate(this.#meters.attempts, "outbound", this.#clock.now());
  }

  /**
   * True while a Retry-After keeps new sessions off. It must not keep them off the last candidate that is in service:
   * routing, which alone knows the candidates, then asks again with `ignoreRetryAfter` (SEMANTICS section 8).
   */
  get heldByRetryAfter(): boolean {
    return this.#retryAfter.full(this.#clock.now());
  }

  /** Takes a place in every counter the request touches, or in none (SEMANTICS section 3). */
  admit(request: AdmitRequest): Admission {
    const now = this.#clock.now();
    const refusal = this.#refusal(request, this.#shown.current(now), now);
    if (refusal) {
      this.#ledger.refused(refusal, request.direction);
      return refusal;
    }
    this.#lastActivity = now;
    const isSession = this.#ledger.admitted(request, now);
    return new SessionLease(this, this.#ledger, request.direction, isSession);
  }

  /** What `admit` would say now. */
  room(request: AdmitRequest): Room {
    const now = this.#clock.now();
    return this.#refusal(request, this.#shown.peek(now), now) ?? roomForOneMore;
  }

  /** Evidence for the agent's health, and for how long a 503 with Retry-After keeps new sessions off (SEMANTICS 4, 8). */
  observe(evidence: Evidence): void {
    const now = this.#clock.now();
    if (evidence.kind === "response" && evidence.sentAt !== undefined) {
      this.#latency.record(now - evidence.sentAt, now);
    }
    if (evidence.kind === "response" && evidence.purpose === "traffic") {
      this.#lastActivity = now;
      if (evidence.status === 503 && evidence.retryAfterS !== undefined) {
        this.#retryAfter.hold(evidence.retryAfterS, now);
        this.#shown.refresh(now);
      }
    }
    this.#facts.health.observe(evidence, now);
  }

  /** Where the name of the agent leads now, or why it leads nowhere. Means nothing to one with an ip-address. */
  locate(found: Location | { readonly failure: string }): void {
    const now = this.#clock.now();
    if ("failure" in found) this.#named?.lose(found.failure, now);
    else this.#named?.locate(found, now);
    this.#pings?.relocate();
  }

  /** The endpoints that a request to an agent known by name tries, in order; empty where only its name is known. */
  route(random: () => number): Endpoint[] {
    return this.#named?.route(random, this.#clock.now()) ?? [];
  }

  /** Nothing came from that address within the patience of a call: later ones try others first. */
  silent(endpoint: Endpoint): void {
    this.#named?.silent(endpoint, this.#clock.now());
  }

  /** Pings the agent from now on, as its parameters say; no ping at all until then. */
  startPings(deps: PingDeps): void {
    this.#pings?.stop();
    this.#pings = new AddressPings(this, deps);
    this.#pings.start();
  }

  /**
   * A SIP transaction with the agent took place that neither `admit` nor `observe` heard of, as one in dialog: no ping is
   * due. Gives the moment.
   */
  touch(): Ms {
    this.#lastActivity = this.#clock.now();
    return this.#lastActivity;
  }

  /** Whether the agent has registered us, where it must; `status`: of the answer that said so. */
  setRegistered(registered: boolean, status?: number): void {
    const now = this.#clock.now();
    if (!this.#facts.registration.set(registered, now, status)) return;
    this.#shown.refresh(now);
  }

  /** Undefined where the agent needs no registration. */
  get registered(): boolean | undefined {
    return needsRegistration(this.#params) ? !this.#facts.registration.missing : undefined;
  }

  setAdmin(state: AdminState): void {
    if (state === this.#facts.admin) return;
    this.#facts.admin = state;
    this.#pings?.forget();
    this.#shown.refresh(this.#clock.now());
  }

  /**
   * Other parameters from now on; what is counted stays counted, and sessions above a lower limit stay up. The
   * configured `state` counts as an administrative change only where it differs from the one configured before.
   */
  configure(params: AgentParams): void {
    const now = this.#clock.now();
    const before = this.#params;
    this.#params = params;
    this.#capacity = capacityOf(params);
    this.#meters.configure(params, now);
    this.#retryAfter.configure(params, now);
    this.#facts.constraints = new Constraints(params, this.#meters, this.#retryAfter);
    if ((params["ip-address"] === "") !== (before["ip-address"] === "")) {
      this.#facts.health.stop();
      this.#facts.health = this.#newHealth();
      this.#pings?.relocate();
    }
    this.#facts.health.configure(params, now);
    if (needsRegistration(params) !== needsRegistration(before)) {
      this.#facts.registration = new Registration(needsRegistration(params), now);
    }
    if (params.state !== before.state) this.setAdmin(params.state);
    this.#shown.refresh(now);
    if (pingKeys.some((key) => params[key] !== before[key])) this.#pings?.start();
  }

  /** Sets every timer free and sends no more pings. The agent's leases stay good. */
  stop(): void {
    this.#pings?.stop();
    this.#facts.health.stop();
    this.#shown.stop();
  }

  snapshot(): AgentSnapshot {
    return snapshotOf({
      clock: this.#clock,
      params: this.#params,
      facts: this.#facts,
      shown: this.#shown,
      exceeded: this.#ledger.exceeded,
      refused: this.#ledger.refusals,
      latency: this.#latency.view(this.#clock.now()),
      totals: this.#ledger.totals,
      lastPing: this.#pings?.last,
      resumeAt: this.resumeAt,
      addresses: this.addresses,
      registered: this.registered,
    });
  }

  #newHealth(): HealthFacts {
    const changed = (now: Ms): void => this.#shown.refresh(now);
    this.#named =
      this.#params["ip-address"] === "" ? new AddressesHealth(this.#params, this.#clock, changed) : undefined;
    return this.#named ?? new HealthKeeper(this.#params, this.#clock, changed);
  }

  #refusal(request: AdmitRequest, letter: StateLetter, now: Ms): Refusal | undefined {
    if (request.exempt) return undefined;
    // I means that every limit has room for a session, in both directions.
    if (request.method === "INVITE" && letter === "I") return undefined;
    if (request.direction === "outbound" && letter !== "I" && letter !== "C") return refusedBy[letter];
    const exceeded = this.#facts.constraints.refusing(request, now);
    return exceeded.length === 0 ? undefined : { admitted: false, state: letter, exceeded };
  }
}

const needsRegistration = (params: AgentParams): boolean => params["surrogate-registration"] !== undefined;

const capacityOf = (params: AgentParams): number => params["max-outbound-sessions"] || params["max-sessions"];
