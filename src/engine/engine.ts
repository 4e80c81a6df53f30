import type { Clock } from "../clock.ts";
import type { Locator } from "../names/locator.ts";
import { dnsLocator, type NameSettings, systemNames } from "../names/system-names.ts";
import type { SourceRefusal, SourceRules } from "../source-rules.ts";
import type { EngineLog } from "./core/context.ts";
import { Core } from "./core/core.ts";
import { type ScreenedRequest, SourceScreen } from "./core/source-screen.ts";
import type { AppLink, AppPeer, LinkHost } from "./link/app-link.ts";
import type { SipMessage } from "./message/sip-message.ts";
import type { TimerValues } from "./transaction/timers.ts";
import { type Flow, type Target, type TlsSettings, Transports } from "./transport/transport.ts";

export type { EngineLog } from "./core/context.ts";

export interface EngineOptions {
  readonly listen: readonly Target[];
  /** RFC 3261 table 4, milliseconds. */
  readonly timers: TimerValues;
  readonly clock: Clock;
  readonly log: EngineLog;
  /** Whose requests are heard, by realm; default: everybody's. */
  readonly sources?: readonly SourceRules[];
  /** Needed where TLS is listened on. */
  readonly tls?: TlsSettings;
  /** How names of next hops become addresses; default: as the system does it. */
  readonly dns?: NameSettings | undefined;
}

/** The SIP engine: sockets, transactions, dialogs, and the applications that drive it over links. */
export class Engine implements LinkHost {
  readonly #transports: Transports;
  readonly #core: Core;
  readonly #names: Locator;
  readonly #screen: SourceScreen;
  readonly #peers = new Map<AppLink, AppPeer>();

  constructor({ listen, timers, clock, log, sources = [], tls, dns = systemNames }: EngineOptions) {
    this.#names = dnsLocator(dns, { clock, random: Math.random, listen });
    this.#screen = new SourceScreen(sources, clock);
    this.#transports = new Transports(
      listen,
      {
        message: (message, flow) => {
          const refusal = message.isRequest ? this.#judge(message, flow) : undefined;
          if (refusal) this.#core.refuse(message, flow, refusal);
          else this.#core.receive(message, flow);
        },
        malformed: (message, flow) => {
          // What would not be heard in good order is not told what is wrong with it.
          if (!message.partial || !this.#judge(message.partial, flow)) this.#core.malformed(message, flow);
        },
        defect: (error) => log.warn({ err: error }, "a message could not be handled"),
      },
      { clock, warn: (detail, message) => log.warn(detail, message), ...(tls && { tls }) },
    );
    this.#core = new Core({ clock, timers, log, transports: this.#transports, names: this.#names });
  }

  /** Binds every address or none. Throws WEIR_LISTEN_FAILED. */
  start(): Promise<void> {
    return this.#transports.start();
  }

  /** Applications are disconnected, their calls ended, and the sockets closed. */
  async stop(): Promise<void> {
    for (const [link, peer] of [...this.#peers]) {
      link.close();
      peer.closed();
    }
    this.#names.stop();
    await this.#transports.stop();
  }

  /** With the real ports where 0 was asked for. */
  get listening(): readonly Target[] {
    return this.#transports.listening;
  }

  attach(link: AppLink): AppPeer {
    const session = this.#core.attach(link);
    const peer: AppPeer = {
      receive: (payload) => session.receive(payload),
      closed: () => {
        this.#peers.delete(link);
        session.closed();
      },
    };
    this.#peers.set(link, peer);
    return peer;
  }

  /** The addresses of a realm's agents are these from now on. */
  knowAgents(realm: string, addresses: readonly string[]): void {
    this.#screen.know(realm, addresses);
  }

  appStage(stage: () => void): void {
    this.#transports.stage(stage);
  }

  /** What is alive now, and what has been done since the start. */
  get counters() {
    const { layer, dialogs, incoming, outgoing, apps, counters } = this.#core.context;
    return {
      transports: this.#transports.counters,
      transactions: layer.counters,
      core: counters,
      sources: this.#screen.counters,
      alive: {
        ...layer.counts,
        dialogs: dialogs.size,
        incoming: incoming.size,
        outgoing: outgoing.size,
        applications: apps.size,
      },
    };
  }

  #judge(message: SipMessage, flow: Flow): SourceRefusal | undefined {
    return this.#screen.judge(new Screened(message, flow, this.#core), flow);
  }
}

/** A request of the network as the screen sees it. */
class Screened implements ScreenedRequest {
  readonly #message: SipMessage;
  readonly #flow: Flow;
  readonly #core: Core;

  constructor(message: SipMessage, flow: Flow, core: Core) {
    this.#message = message;
    this.#flow = flow;
    this.#core = core;
  }

  get method(): string {
    return this.#message.method;
  }

  get source(): string {
    return this.#flow.remoteAddress;
  }

  userAgent(): string | undefined {
    return this.#message.header("user-agent");
  }

  belongs(): boolean {
    return this.#core.knows(this.#message);
  }
}
