import type { RealmConfig } from "../config/config.ts";
import { hostPort } from "../signalling/addresses.ts";

/** Tells the realm a request entered through by the listener that received it. */
export class Realms {
  readonly #byListener = new Map<string, RealmConfig>();
  readonly #first: RealmConfig;

  constructor(realms: readonly RealmConfig[]) {
    this.#first = realms[0] ?? { identifier: "default", listen: [], allow: "any" };
    for (const realm of realms) {
      for (const { address, port } of realm.listen) {
        this.#byListener.set(hostPort(address, port), realm);
        // drachtio-srf joins host and port without minding IPv6.
        this.#byListener.set(`${address}:${port}`, realm);
      }
    }
  }

  /** `receivedOn` is `host:port`; an unknown one (a port chosen by the system, an external engine) is in the first realm. */
  of(receivedOn: string): RealmConfig {
    return this.#byListener.get(receivedOn) ?? this.#first;
  }
}
