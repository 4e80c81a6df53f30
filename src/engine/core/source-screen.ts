import { BlockList, isIPv6 } from "node:net";
import type { Clock } from "../../clock.ts";
import type { SourceRefusal, SourceRules } from "../../source-rules.ts";
import { SourceRates } from "./source-rates.ts";

/** What the screen has kept away. Only ever goes up. */
export interface ScreenCounters {
  /** Requests of strangers, where only agents are heard, left without any answer. */
  strangers: number;
  /** Requests from addresses that the lists keep away. */
  denied: number;
  /** Requests with the User-Agent of a scanner. */
  scanners: number;
  /** Requests above the rate of one source. */
  tooMany: number;
  /** Requests not counted, as there were too many sources. */
  untracked: number;
}

/** A request as the screen sees it. */
export interface ScreenedRequest {
  readonly method: string;
  readonly source: string;
  /** Undefined without the field. */
  userAgent(): string | undefined;
  /** Whether it is part of something that was let in before: a dialog, or a transaction that it repeats. Asked last. */
  belongs(): boolean;
}

/** Where a request came in. */
export interface Entrance {
  readonly protocol: string;
  readonly localAddress: string;
  readonly localPort: number;
}

/** A User-Agent is looked at so far. */
const longestUserAgent = 256;

const scannerRefusal: SourceRefusal = { status: 403, silent: true };

/** Keeps requests away before anything is made of them, by where they come from. */
export class SourceScreen {
  readonly #counters: ScreenCounters = { strangers: 0, denied: 0, scanners: 0, tooMany: 0, untracked: 0 };
  readonly #realms: readonly RealmScreen[];
  readonly #byListener = new Map<string, RealmScreen>();

  constructor(rules: readonly SourceRules[], clock: Clock) {
    this.#realms = rules.map((each) => new RealmScreen(each, clock, this.#counters));
    for (const [index, { listen }] of rules.entries()) {
      const realm = this.#realms[index];
      if (!realm) continue;
      for (const { protocol, address, port } of listen) this.#byListener.set(keyOf(protocol, address, port), realm);
    }
  }

  get counters(): ScreenCounters {
    return { ...this.#counters, untracked: this.#realms.reduce((sum, realm) => sum + realm.untracked, 0) };
  }

  /** How the request is refused; undefined = it is heard. */
  judge(request: ScreenedRequest, entrance: Entrance): SourceRefusal | undefined {
    return this.#realmAt(entrance)?.judge(request);
  }

  /** The addresses of a realm's agents are these from now on. */
  know(realm: string, agents: readonly string[]): void {
    for (const each of this.#realms) if (each.name === realm) each.know(agents);
  }

  /** With one realm it is the one whatever the listener, a port chosen by the system included. */
  #realmAt({ protocol, localAddress, localPort }: Entrance): RealmScreen | undefined {
    if (this.#realms.length < 2) return this.#realms[0];
    return this.#byListener.get(keyOf(protocol, localAddress, localPort));
  }
}

class RealmScreen {
  readonly name: string;
  readonly #rules: SourceRules;
  readonly #counters: ScreenCounters;
  readonly #allowed: BlockList | undefined;
  readonly #denied: BlockList | undefined;
  readonly #scanners: readonly string[];
  readonly #rates: SourceRates | undefined;
  #agents: ReadonlySet<string>;

  constructor(rules: SourceRules, clock: Clock, counters: ScreenCounters) {
    this.name = rules.realm;
    this.#rules = rules;
    this.#counters = counters;
    this.#allowed = listOf(rules.allowFrom);
    this.#denied = listOf(rules.denyFrom);
    this.#scanners = rules.dropUserAgents.map((part) => part.toLowerCase());
    this.#rates = rules.maxRate > 0 ? new SourceRates(rules.maxRate, rules.window, clock) : undefined;
    this.#agents = new Set(rules.agents);
  }

  get untracked(): number {
    return this.#rates?.untracked ?? 0;
  }

  know(agents: readonly string[]): void {
    this.#agents = new Set(agents);
  }

  judge(request: ScreenedRequest): SourceRefusal | undefined {
    const { source } = request;
    const { unknown } = this.#rules;
    const known = this.#agents.has(source);
    if (this.#denied && contains(this.#denied, source)) return this.#refuse("denied", unknown, request);
    if (known) return undefined;
    if (this.#rules.closed) return this.#refuse("strangers", unknown, request);
    if (this.#allowed && !contains(this.#allowed, source)) return this.#refuse("denied", unknown, request);
    // Neither begins anything.
    if (request.method === "ACK" || request.method === "CANCEL") return undefined;
    if (this.#isScanner(request)) return this.#refuse("scanners", scannerRefusal, request);
    return this.#rates?.take(source) === false ? this.#refuse("tooMany", this.#rules.tooMany, request) : undefined;
  }

  #refuse(
    why: Exclude<keyof ScreenCounters, "untracked">,
    refusal: SourceRefusal,
    request: ScreenedRequest,
  ): SourceRefusal | undefined {
    if (request.belongs()) return undefined;
    this.#counters[why]++;
    return refusal;
  }

  #isScanner(request: ScreenedRequest): boolean {
    if (this.#scanners.length === 0) return false;
    const userAgent = request.userAgent()?.slice(0, longestUserAgent).toLowerCase();
    return userAgent !== undefined && this.#scanners.some((part) => userAgent.includes(part));
  }
}

function listOf(networks: readonly string[]): BlockList | undefined {
  if (networks.length === 0) return undefined;
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix = ""] = network.split("/");
    list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return list;
}

const contains = (list: BlockList, address: string): boolean => list.check(address, familyOf(address));

const familyOf = (address: string): "ipv4" | "ipv6" => (isIPv6(address) ? "ipv6" : "ipv4");

const keyOf = (protocol: string, address: string, port: number): string => `${protocol} ${address} ${port}`;
