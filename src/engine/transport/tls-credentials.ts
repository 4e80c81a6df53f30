import { unwatchFile, watchFile } from "node:fs";
import { createSecureContext, type SecureContext, type SecureContextOptions } from "node:tls";
import type { Clock, Timer } from "../../clock.ts";
import { expiryOf, readTlsFiles, secureContextOf } from "../../tls-files.ts";
import type { TransportCounters } from "./counters.ts";
import { TlsPeers } from "./tls-peers.ts";
import type { TlsSettings } from "./tls-settings.ts";

export interface TlsDeps {
  readonly clock: Clock;
  readonly counters: TransportCounters;
  /** Hears what an operator should know. */
  readonly warn: (detail: object, message: string) => void;
}

/** How often the files are looked at, in milliseconds. */
const watchEvery = 2_000;

/** Certificate and key are two files: what is seen of the change of one is given this time to become a pair again. */
const settlingTime = 500;

/**
 * Certificate, key and authorities as files, read again when they change. Connections that are up stay as they are; new ones
 * are made with what was read last. Files that cannot be used leave what is in use in its place.
 */
export class TlsCredentials {
  readonly settings: TlsSettings;
  readonly peers: TlsPeers;
  readonly #deps: TlsDeps;
  readonly #users: ((options: SecureContextOptions) => void)[] = [];
  #client: SecureContext | undefined;
  #settling: Timer | undefined;

  constructor(settings: TlsSettings, deps: TlsDeps) {
    this.settings = settings;
    this.peers = new TlsPeers(settings);
    this.#deps = deps;
  }

  /** What connections to peers are made with: our own certificate is in it, for those who ask. */
  get client(): SecureContext | undefined {
    return this.#client;
  }

  /** `user` is given what is in the files, now that they are read and whenever that changes. */
  use(user: (options: SecureContextOptions) => void): void {
    this.#users.push(user);
  }

  /** Reads the files and watches them from now on. Throws when they cannot be used, or there is no certificate. */
  start(): void {
    const { certificate, key } = this.settings;
    if (certificate === "" || key === "") throw new Error("TLS needs a certificate and its key");
    const fault = this.#read();
    if (fault !== undefined) throw new Error(fault);
    for (const file of this.#files()) watchFile(file, { interval: watchEvery, persistent: false }, this.#changed);
  }

  stop(): void {
    this.#settling?.cancel();
    for (const file of this.#files()) unwatchFile(file, this.#changed);
  }

  #files(): string[] {
    const { certificate, key, ca } = this.settings;
    return [certificate, key, ca].filter((file) => file !== "");
  }

  readonly #changed = (): void => {
    this.#settling?.cancel();
    this.#settling = this.#deps.clock.after(settlingTime, () => {
      const fault = this.#read();
      if (fault === undefined) this.#deps.counters.certificatesReplaced++;
      else this.#deps.warn({ reason: fault }, "changed TLS files cannot be used: those read before stay in use");
    });
  };

  /** Why the files cannot be used; undefined when they now are. */
  #read(): string | undefined {
    const { clock } = this.#deps;
    const texts = readTlsFiles(this.settings, new Date(clock.date()));
    if (!("certificate" in texts)) return texts.map(({ file, text }) => `${file}: ${text}`).join("; ");
    const options = { ...secureContextOf(texts), minVersion: this.settings.minVersion };
    this.#client = createSecureContext(options);
    if (texts.certificate !== undefined) {
      this.#deps.counters.certificateExpiryTimestampSeconds = expiryOf(texts.certificate).getTime() / 1_000;
    }
    for (const user of this.#users) user(options);
    return undefined;
  }
}
