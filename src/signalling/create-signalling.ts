import type { Clock } from "../clock.ts";
import type { SignallingConfig } from "../config/config.ts";
import { DrachtioSignalling, type SignallingLog } from "./drachtio-signalling.ts";
import { EmbeddedLink } from "./embedded-link.ts";
import { ExternalLink } from "./external-link.ts";
import type { Signalling } from "./port.ts";

export interface SignallingDeps {
  readonly clock: Clock;
  readonly log: SignallingLog;
}

/** Signalling on the engine that the configuration names; the same adapter drives either. */
export function createSignalling(config: SignallingConfig, { clock, log }: SignallingDeps): Signalling {
  const link = config.engine === "drachtio" ? new ExternalLink(config.drachtio) : new EmbeddedLink(config, clock, log);
  return new DrachtioSignalling(link, log);
}
