import { promises as dns } from "node:dns";
import type { Ms } from "../clock.ts";
import { Gate } from "./gate.ts";
import { addressesInHosts } from "./hosts-file.ts";
import type { AddressRecord, Answer, NaptrRecord, Resolver, SrvRecord } from "./resolver.ts";

export interface DnsSettings {
  /** `address` or `address:port`, IPv6 in brackets where there is a port. Empty: those of the system, and its hosts file. */
  readonly servers: readonly string[];
  /** Seconds until a question is given up, repetitions and all servers included. */
  readonly timeout: number;
}

/** Questions on their way at a time: thousands of names at a start must not drown the server. */
const atOnce = 64;

/** What a system's hosts file says holds until it is looked at again. */
const hostsTtl = 60;

/** c-ares's words for "there is none". */
const absent = new Set(["ENOTFOUND", "ENODATA"]);

/** DNS by Node's c-ares, which follows CNAMEs within an answer and turns to TCP for answers that are too large for UDP. */
export class DnsResolver implements Resolver {
  readonly #dns: dns.Resolver;
  readonly #timeout: Ms;
  readonly #gate = new Gate(atOnce);
  /** Whether the system's own ways apply: its hosts file, and its search list for names without a dot. */
  readonly #asSystem: boolean;

  constructor({ servers, timeout }: DnsSettings) {
    this.#timeout = timeout * 1_000;
    // Two tries, of which the second waits twice as long.
    this.#dns = new dns.Resolver({ timeout: Math.max(1, Math.floor(this.#timeout / 3)), tries: 2 });
    this.#asSystem = servers.length === 0;
    if (!this.#asSystem) this.#dns.setServers(servers);
  }

  async addresses(name: string, family: 4 | 6): Promise<Answer<AddressRecord>> {
    if (this.#asSystem) {
      const known = await addressesInHosts(name, family);
      if (known.length > 0) return recordsOf(known.map(lasting));
      if (!name.includes(".")) return this.#ask(() => this.#systemLookup(name, family));
    }
    return this.#ask(() =>
      family === 4 ? this.#dns.resolve4(name, { ttl: true }) : this.#dns.resolve6(name, { ttl: true }),
    );
  }

  async srv(name: string): Promise<Answer<SrvRecord>> {
    return (await this.#isLocal(name)) ? { kind: "none" } : this.#ask(() => this.#dns.resolveSrv(name));
  }

  async naptr(name: string): Promise<Answer<NaptrRecord>> {
    return (await this.#isLocal(name)) ? { kind: "none" } : this.#ask(() => this.#dns.resolveNaptr(name));
  }

  /** Names of the system alone have no records but addresses. `name` may begin with the labels of a service. */
  async #isLocal(name: string): Promise<boolean> {
    if (!this.#asSystem) return false;
    const host = name.replace(/^(?:_[^.]*\.)+/, "");
    if (!host.includes(".")) return true;
    const [four, six] = await Promise.all([addressesInHosts(host, 4), addressesInHosts(host, 6)]);
    return four.length + six.length > 0;
  }

  async #systemLookup(name: string, family: 4 | 6): Promise<AddressRecord[]> {
    return (await dns.lookup(name, { all: true, family })).map(({ address }) => lasting(address));
  }

  #ask<T>(question: () => Promise<T[]>): Promise<Answer<T>> {
    return this.#gate.pass(async () => {
      let timer: NodeJS.Timeout | undefined;
      const deadline = new Promise<Answer<T>>((resolve) => {
        timer = setTimeout(() => resolve({ kind: "trouble", detail: "no answer from DNS" }), this.#timeout);
      });
      const answer = await Promise.race([question().then(recordsOf, failureOf), deadline]);
      clearTimeout(timer);
      return answer;
    });
  }
}

const lasting = (address: string): AddressRecord => ({ address, ttl: hostsTtl });

const recordsOf = <T>(records: readonly T[]): Answer<T> =>
  records.length === 0 ? { kind: "none" } : { kind: "records", records };

function failureOf(error: unknown): Answer<never> {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (absent.has(code)) return { kind: "none" };
  return { kind: "trouble", detail: error instanceof Error ? error.message : String(error) };
}
