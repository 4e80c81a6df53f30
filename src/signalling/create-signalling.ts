import type { Clock } from "../clock.ts";
import type { SignallingConfig } from "../config/config.ts";
import type { Credentials } from "../secret.ts";
import { DrachtioSignalling, type EngineLink, type SignallingLog } from "./drachtio-signalling.ts";
import { EmbeddedLink } from "./embedded-link.ts";
import { ExternalLink } from "./external-link.ts";
import type { Signalling } from "./port.ts";

export interface SignallingDeps {
  readonly clock: Clock;
  readonly log: SignallingLog;
  /** By hostname of the agent that they satisfy. */
  readonly credentials?: ReadonlyMap<string, Credentials>;
}

/** Signalling on the engine that the configuration names; the same adapter drives each. */
export function createSignalling(config: SignallingConfig, deps: SignallingDeps): Signalling {
  return new DrachtioSignalling(linkTo(config, deps), deps.log, deps.credentials);
}

function linkTo(config: SignallingConfig, { clock, log }: SignallingDeps): EngineLink {
  if (config.engine === "drachtio") return new ExternalLink(config, clock);
  return config.thread === "worker"
    ? EmbeddedLink.inWorkerThread(config, log)
    : EmbeddedLink.inThisThread(config, clock, log);
}
