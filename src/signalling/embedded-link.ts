import { once } from "node:events";
import type { Server } from "node:net";
import type { Clock } from "../clock.ts";
import type { SignallingConfig } from "../config/config.ts";
import { Engine } from "../engine/engine.ts";
import { createVirtualLink } from "../engine/link/virtual-link.ts";
import { WorkerEngine } from "../engine/worker-engine.ts";
import type { EngineLink, SignallingLog } from "./drachtio-signalling.ts";
import { packed } from "./packing.ts";
import type { RawSrf } from "./raw-srf.ts";

interface EmbeddedEngine {
  readonly counters: object;
  start(): Promise<void>;
  knowAgents(realm: string, addresses: readonly string[]): void;
  stop(): Promise<void>;
}

/** The engine in this process, linked without a socket. */
export class EmbeddedLink implements EngineLink {
  readonly showsTrying = true;
  readonly takesRoute = true;
  readonly takesStar = true;
  readonly screens = true;
  readonly maxMessage = Number.POSITIVE_INFINITY;
  readonly packing = packed;
  readonly #engine: EmbeddedEngine;
  readonly #server: Server;

  constructor(engine: EmbeddedEngine, server: Server) {
    this.#engine = engine;
    this.#server = server;
  }

  static inThisThread(config: SignallingConfig, clock: Clock, log: SignallingLog): EmbeddedLink {
    const engine = new Engine({ ...engineOptions(config), clock, log });
    return new EmbeddedLink(engine, createVirtualLink(engine, { packed: true }));
  }

  /** `program`: the thread's, where it is not the built one. */
  static inWorkerThread(config: SignallingConfig, log: SignallingLog, program?: URL): EmbeddedLink {
    const engine = new WorkerEngine({ ...engineOptions(config), log, packed: true, ...(program && { program }) });
    return new EmbeddedLink(engine, engine.server);
  }

  get counters(): object {
    return this.#engine.counters;
  }

  async attach(srf: RawSrf): Promise<void> {
    const linked = once(srf, "connect");
    srf.listen({ server: this.#server, secret: "embedded" });
    await linked;
    // Only now: a request that comes before there is an application would be refused.
    await this.#engine.start();
  }

  knowAgents(realm: string, addresses: readonly string[]): void {
    this.#engine.knowAgents(realm, addresses);
  }

  close(): Promise<void> {
    return this.#engine.stop();
  }
}

/** What an engine is told in either thread. */
const engineOptions = ({ listen, timers, sources = [], dns, tls }: SignallingConfig) => ({
  listen,
  timers,
  sources,
  dns,
  ...(tls && { tls }),
});
