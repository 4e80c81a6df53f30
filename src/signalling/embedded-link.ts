import { once } from "node:events";
import type { Clock } from "../clock.ts";
import type { SignallingConfig } from "../config/config.ts";
import { Engine } from "../engine/engine.ts";
import { createVirtualLink } from "../engine/link/virtual-link.ts";
import type { EngineLink, SignallingLog } from "./drachtio-signalling.ts";
import type { RawSrf } from "./raw-srf.ts";

/** The engine in this thread, linked without a socket. */
export class EmbeddedLink implements EngineLink {
  readonly showsTrying = true;
  readonly #engine: Engine;

  constructor({ listen, timers }: SignallingConfig, clock: Clock, log: SignallingLog) {
    this.#engine = new Engine({ listen, timers, clock, log });
  }

  get counters(): object {
    return this.#engine.counters;
  }

  async attach(srf: RawSrf): Promise<void> {
    const linked = once(srf, "connect");
    srf.listen({ server: createVirtualLink(this.#engine), secret: "embedded" });
    await linked;
    // Only now: a request that comes before there is an application would be refused.
    await this.#engine.start();
  }

  close(): Promise<void> {
    return this.#engine.stop();
  }
}
