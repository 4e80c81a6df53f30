import type { Clock } from "../clock.ts";
import type { Locator } from "../names/locator.ts";
import { dnsLocator, type NameSettings, systemNames } from "../names/system-names.ts";
import type { EngineLog } from "./core/context.ts";
import { Core } from "./core/core.ts";
import { type ClosedListener, StrangerScreen } from "./core/stranger-screen.ts";
import type { AppLink, AppPeer, LinkHost } from "./link/app-link.ts";
import type { SipMessage } from "./message/sip-message.ts";
import type { TimerValues } from "./transaction/timers.ts";
import { type Target, type TlsSettings, Transports } from "./transport/transport.ts";

export type { EngineLog } from "./core/context.ts";

export interface EngineOptions {
  readonly listen: readonly Target[];
  /** RFC 3261 table 4, milliseconds. */
  readonly timers: TimerValues;
  readonly clock: Clock;
  readonly log: EngineLog;
  /** Listeners on which strangers are not even refused. */
  readonly closed?: readonly ClosedListener[];
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
  readonly #peers = new Map<AppLink, AppPeer>();

  constructor({ listen, timers, clock, log, closed = [], tls, dns = systemNames }: EngineOptions) {
    this.#names = dnsLocator(dns, { clock, random: Math.random, listen });
    const screen = new StrangerScreen(closed);
    this.#transports = new Transports(
      listen,
      {
        message: (message, flow) => {
          const { context } = this.#core;
          const known = (request: SipMessage) => context.dialogs.ofRequest(request) !== undefined;
          if (screen.drops(message, flow, known)) context.counters.strangersDropped++;
          else this.#core.receive(message, flow);
        },
        malformed: (message, flow) =>
          this.#core.malformed(message, flow, (request) => this.#transports.responseFlow(request, flow)),
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
      alive: {
        ...layer.counts,
        dialogs: dialogs.size,
        incoming: incoming.size,
        outgoing: outgoing.size,
        applications: apps.size,
      },
    };
  }
}
