import type { SignallingConfig } from "../config/config.ts";
import type { EngineLink } from "./drachtio-signalling.ts";
import type { RawSrf } from "./raw-srf.ts";

/** Longest pause between attempts to reach a drachtio-server that is down, in milliseconds. */
const retryMaxDelay = 5_000;

/** A drachtio-server over TCP. drachtio-srf looks for it again and again, at growing pauses. */
export class ExternalLink implements EngineLink {
  /** drachtio-server keeps 100 responses to itself. */
  readonly showsTrying = false;
  readonly counters = undefined;
  readonly #server: SignallingConfig["drachtio"];
  #srf: RawSrf | undefined;

  constructor(server: SignallingConfig["drachtio"]) {
    this.#server = server;
  }

  async attach(srf: RawSrf): Promise<void> {
    this.#srf = srf;
    srf.connect({ ...this.#server, reconnect: { retryMaxDelay } });
  }

  async close(): Promise<void> {
    try {
      this.#srf?.disconnect();
    } catch {
      // drachtio-srf asserts that there is a connection to end; without one there is nothing to do.
    }
  }
}
