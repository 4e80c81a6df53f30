import { AgentEvents } from "./agents/agent-events.ts";
import { AgentManager } from "./agents/agent-manager.ts";
import { CallManager } from "./calls/call-manager.ts";
import { HeaderRules } from "./calls/header-rules.ts";
import { LocalReplies } from "./calls/local-responses.ts";
import { type LoadGauge, OverloadGuard } from "./calls/overload-guard.ts";
import { type Clock, type Ms, systemClock, wallMinusMonotonic } from "./clock.ts";
import { formatListenAddress } from "./config/addresses.ts";
import type { WeirConfig } from "./config/config.ts";
import { listeningAs } from "./errors.ts";
import { AgentLocations } from "./names/agent-locations.ts";
import type { Locator } from "./names/locator.ts";
import { dnsLocator } from "./names/system-names.ts";
import { AdminApi } from "./operations/admin-api.ts";
import { agentMetrics } from "./operations/agent-metrics.ts";
import { AgentWatch } from "./operations/agent-watch.ts";
import { callMetrics } from "./operations/call-metrics.ts";
import { engineMetrics } from "./operations/engine-metrics.ts";
import { type ExplainQuery, readExplainQuery } from "./operations/explain-query.ts";
import { groupViews } from "./operations/group-view.ts";
import type { Log } from "./operations/log.ts";
import { Metrics, single } from "./operations/metrics.ts";
import { registrationMetrics } from "./operations/registration-metrics.ts";
import { Registrations } from "./registrations/registrations.ts";
import { Surrogates } from "./registrations/surrogates.ts";
import { routedMethods } from "./routing/routed-methods.ts";
import { Router } from "./routing/router.ts";
import { createSignalling } from "./signalling/create-signalling.ts";
import type { Signalling } from "./signalling/port.ts";
import { SipPinger } from "./signalling/sip-pinger.ts";

// drachtio-srf reads its environment for every header, and reading the real one costs a system call each time.
process.env = { ...process.env };

export interface WeirParts {
  readonly log: Log;
  readonly clock?: Clock;
  /** 0 inclusive to 1 exclusive. */
  readonly random?: () => number;
  /** Tests bring their own. */
  readonly signalling?: Signalling;
}

/** Before the sockets close: time for the last BYEs and their answers, and for peers that have to repeat themselves. */
const lingerMs: Ms = 500;

/** Until the engine is told where agents are that have moved. */
const tellingDelay: Ms = 20;

/** A running Weir. */
export class Weir {
  /** Where the admin API is served, with the real port. */
  adminUrl = "";
  readonly agents: AgentManager;
  readonly calls: CallManager;
  readonly registrations: Registrations;
  readonly metrics: Metrics;
  readonly #surrogates: Surrogates;
  readonly #config: WeirConfig;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #signalling: Signalling;
  readonly #admin: AdminApi;
  readonly #names: Locator;
  readonly #overload: OverloadGuard;
  /** Realms whose agents have moved, until the engine is told. */
  readonly #moved = new Set<string>();
  #stopped: Promise<void> | undefined;
  /** Ends the wait of a drain. */
  #endDrain = (): void => {};

  constructor(config: WeirConfig, { log, clock = systemClock, random = Math.random, signalling }: WeirParts) {
    this.#config = config;
    this.#log = log;
    this.#clock = clock;
    this.#signalling =
      signalling ?? createSignalling(config.signalling, { clock, log, credentials: config.credentials });
    const events = new AgentEvents();
    const watch = new AgentWatch(events, log);
    this.agents = new AgentManager(config["session-agents"], { clock, random, events });
    // Where the engine is configured elsewhere, what it can send from is not known here.
    const listen = config.signalling.engine === "embedded" ? config.signalling.listen : [];
    this.#names = dnsLocator(config.dns, { clock, random, listen });
    const routing = {
      groups: config["session-agent-groups"],
      policies: config["local-policies"],
      failover: config.failover,
      translations: config["translation-rules"],
      realms: config.realms,
    };
    const router = new Router(routing, this.agents);
    const replies = new LocalReplies(config["retry-after"], random, config["local-response-map"]);
    const headerRules = new HeaderRules(config["header-rules"]);
    const common = { signalling: this.#signalling, router, clock, random };
    this.registrations = new Registrations(config.registrations, { ...common, replies, headerRules });
    const registrar = this.registrations;
    this.#surrogates = new Surrogates(this.agents, { ...common, random, log });
    const changed = (overloaded: boolean, load: number): void => {
      if (overloaded) log.warn({ load }, "overloaded: new calls are refused");
      else log.info("no longer overloaded");
    };
    this.#overload = new OverloadGuard(config.overload["load-limit"], { clock, load: loopUtilization(), changed });
    const overload = this.#overload;
    this.calls = new CallManager(config, { ...common, agents: this.agents, log, registrar, overload });
    this.metrics = new Metrics(
      [
        ...agentMetrics(this.agents, watch),
        ...callMetrics(this.calls),
        ...registrationMetrics(this.registrations),
        single("gauge", "weir_load", "Share of the last half second without rest.", () => this.#overload.load),
        watch.metric,
      ],
      () => engineMetrics(() => this.#signalling.engineCounters),
    );
    const views = {
      agents: this.agents,
      groups: () => groupViews(router.groups),
      calls: () => this.calls.list(),
      registrations: (limit: number, aor?: string) => this.registrations.list(limit, aor),
      surrogates: () => this.#surrogates.list(wallMinusMonotonic(clock)),
      explain: (query: ExplainQuery) => {
        const now = clock.date();
        const realms = config.realms.map(({ identifier }) => identifier);
        const knows = (agent: string) => this.agents.get(agent) !== undefined;
        const request = readExplainQuery(query, { realms, now, methods: routedMethods, knows });
        return "error" in request ? request : router.explain(request, wallMinusMonotonic(clock));
      },
      missing: () => this.#missing(),
    };
    this.#admin = new AdminApi(views, this.metrics);
  }

  /** Serves the admin API, then takes calls; either both or none. Throws WEIR_LISTEN_FAILED. */
  async start(): Promise<void> {
    try {
      await this.#locateAgents();
      this.adminUrl = await listeningAs("admin.listen", this.#admin.start(this.#config.admin.listen));
      await listeningAs(this.#listenSetting, this.#signalling.start(this.calls));
    } catch (error) {
      await this.stop();
      throw error;
    }
    this.#overload.start();
    this.#surrogates.start();
    this.agents.startPings(new SipPinger(this.#signalling));
    const { engine, listen } = this.#config.signalling;
    const heard = engine === "embedded" ? { listen: listen.map(formatListenAddress) } : {};
    this.#log.info({ engine, ...heard, admin: this.adminUrl, agents: this.agents.size }, "started");
  }

  /**
   * Refuses new calls, waits for those that are up, and stops. Calls still up after `drain.timeout` are ended with BYE.
   */
  async drain(): Promise<void> {
    const { timeout } = this.#config.drain;
    this.#log.info({ calls: this.calls.active, timeout }, "draining");
    await new Promise<void>((resolve) => {
      this.#endDrain = resolve;
      void this.calls.drain().then(resolve);
      this.#clock.after(timeout * 1_000, resolve);
    });
    if (this.calls.active > 0) this.#log.warn({ calls: this.calls.active }, "calls are still up and are ended");
    await this.stop();
    this.#log.info("stopped");
  }

  /** Ends calls that are up with BYE and stops, without waiting for anybody; also during a drain. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    this.#endDrain();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#overload.stop();
    this.calls.endAll();
    const leaving = this.#surrogates.stop();
    if (leaving || this.calls.counters.received > 0) await this.#after(lingerMs);
    await Promise.all([this.#signalling.stop(), this.#admin.stop()]);
    this.agents.stop();
    this.registrations.stop();
    this.#names.stop();
  }

  /** The first calls need not wait for DNS then; nor is the start held up where DNS is silent. */
  #locateAgents(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(this.#config.dns.timeout * 1_000, resolve);
      void new AgentLocations(this.agents, this.#names, (realm) => this.#tellSources(realm)).follow().then(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  /** Soon, as many may change at a time. */
  #tellSources(realm: string): void {
    if (this.#moved.has(realm)) return;
    this.#moved.add(realm);
    this.#clock.after(tellingDelay, () => {
      this.#moved.delete(realm);
      this.#signalling.knowAgents(realm, this.agents.sourcesOf(realm));
    });
  }

  /** What the configuration says about where SIP is listened for. */
  get #listenSetting(): string {
    const [realm] = this.#config.realms;
    const own = this.#config.realms.length > 1 || realm?.identifier !== "default";
    return own ? "listen of the realms" : "signalling.listen";
  }

  #missing(): string[] {
    return [
      ...(this.#signalling.connected ? [] : ["signalling engine"]),
      ...(this.calls.draining ? ["new calls are refused: draining"] : []),
    ];
  }

  #after(delay: Ms): Promise<void> {
    return new Promise((resolve) => this.#clock.after(delay, resolve));
  }
}

/** Builds, wires and starts everything. Throws WEIR_LISTEN_FAILED. */
export async function startWeir(config: WeirConfig, parts: WeirParts): Promise<Weir> {
  const weir = new Weir(config, parts);
  await weir.start();
  return weir;
}

/** How busy this thread is, by its event loop; waiting for the processor counts as work. */
function loopUtilization(): LoadGauge {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
