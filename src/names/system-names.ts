import type { Clock } from "../clock.ts";
import type { Endpoint } from "../location.ts";
import { DnsResolver } from "./dns-resolver.ts";
import type { Reach } from "./locate.ts";
import { Locator } from "./locator.ts";

/** How names are asked for. */
export interface NameSettings {
  /** `address` or `address:port`; empty = those of the system. */
  readonly servers: readonly string[];
  /** Seconds. */
  readonly timeout: number;
  /** Seconds. */
  readonly "max-stale": number;
}

/** As the system does it. */
export const systemNames: NameSettings = { servers: [], timeout: 2, "max-stale": 3_600 };

export interface NameParts {
  readonly clock: Clock;
  /** 0 inclusive to 1 exclusive. */
  readonly random: () => number;
  /** What is sent from; empty = anything, as by an engine that is configured elsewhere. */
  readonly listen: readonly Endpoint[];
}

/** Names located by DNS, as far as there is a listener to send from. */
export function dnsLocator(settings: NameSettings, { clock, random, listen }: NameParts): Locator {
  const resolver = new DnsResolver(settings);
  return new Locator({ resolver, reach: reachOf(listen), clock, random, maxStale: settings["max-stale"] });
}

function reachOf(listen: readonly Endpoint[]): Reach {
  if (listen.length === 0) return () => true;
  const served = new Set(listen.map(({ protocol, address }) => `${protocol} ${address.includes(":") ? 6 : 4}`));
  return (protocol, family) => served.has(`${protocol} ${family}`);
}
