import { isIP } from "node:net";
import type { Endpoint, Location, Site } from "../location.ts";
import type { AddressRecord, Answer, Resolver, SrvRecord } from "./resolver.ts";

export type Protocol = Endpoint["protocol"];

/** What is to be located. */
export interface Question {
  readonly host: string;
  /** 0 = not given: SRV tells it. */
  readonly port: number;
  /** Undefined where nothing fixes the transport: NAPTR, or the SRV records that there are, tell it. */
  readonly protocol?: Protocol;
  /** A `sips:` URI: nothing but TLS will do. */
  readonly secure?: boolean;
}

/** Whether there is a listener to send from. */
export type Reach = (protocol: Protocol, family: 4 | 6) => boolean;

/** Where a name leads. `ttl`: seconds that this holds. `stale`: in part it is what was known before. */
export type Located =
  | { readonly kind: "located"; readonly location: Location; readonly ttl: number; readonly stale?: true }
  /** DNS says that it leads nowhere. */
  | { readonly kind: "nowhere"; readonly detail: string }
  /** DNS says nothing that could be believed. */
  | { readonly kind: "trouble"; readonly detail: string };

/** More of them in one answer are no service but an attack on memory and patience. */
const maxNaptr = 16;
const maxSrv = 32;
const maxAddresses = 16;

/** Node tells no TTL of SRV and NAPTR records: what rests on them is asked again after this many seconds at the latest. */
const serviceTtl = 60;

const services: Readonly<Record<Protocol, string>> = { udp: "_sip._udp", tcp: "_sip._tcp", tls: "_sips._tcp" };

/** RFC 3263 section 4.1. */
const naptrServices: Readonly<Record<string, Protocol>> = { "sip+d2u": "udp", "sip+d2t": "tcp", "sips+d2t": "tls" };

const defaultPort = (protocol: Protocol): number => (protocol === "tls" ? 5_061 : 5_060);

/**
 * RFC 3263 section 4: NAPTR where nothing fixes the transport, SRV where there is no port, then A and AAAA. `before`: what
 * was found last, for hosts about which DNS is silent for the moment.
 */
export async function locate(
  question: Question,
  resolver: Resolver,
  reach: Reach,
  before?: Location,
): Promise<Located> {
  const { host, port, secure = false } = question;
  const protocol = secure ? "tls" : question.protocol;
  const search = new Search(resolver, reach, before);
  const family = isIP(host);
  if (family === 4 || family === 6) {
    const over = protocol ?? "udp";
    const endpoints = [{ protocol: over, address: host, port: port || defaultPort(over) }];
    return { kind: "located", location: [{ host, priority: 0, weight: 0, endpoints }], ttl: Number.POSITIVE_INFINITY };
  }
  if (port > 0) return search.host(host, port, protocol ?? "udp");
  return (await search.service(host, protocol)) ?? search.host(host, 0, protocol ?? "udp");
}

interface FoundSite {
  readonly site: Site;
  readonly ttl: number;
  readonly stale?: true;
}

class Search {
  readonly #resolver: Resolver;
  readonly #reach: Reach;
  readonly #before: Location | undefined;

  constructor(resolver: Resolver, reach: Reach, before: Location | undefined) {
    this.#resolver = resolver;
    this.#reach = reach;
    this.#before = before;
  }

  /** By SRV. Undefined when the name has no SRV records, so that its addresses are asked for instead. */
  async service(host: string, protocol: Protocol | undefined): Promise<Located | undefined> {
    if (protocol) return this.#srv(`${services[protocol]}.${host}`, protocol);
    const naptr = await this.#resolver.naptr(host);
    if (naptr.kind === "trouble") return naptr;
    const named = naptr.kind === "none" ? [] : naptr.records.slice(0, maxNaptr);
    const ways = named
      .filter(({ flags, replacement }) => flags.toLowerCase() === "s" && replacement !== "")
      .sort((a, b) => a.order - b.order || a.preference - b.preference)
      .map(({ service, replacement }) => [naptrServices[service.toLowerCase()], replacement] as const);
    // Without NAPTR every transport of ours is asked for (RFC 3263 section 4.1).
    const all = Object.entries(services) as [Protocol, string][];
    const guesses = all.map(([each, service]) => [each, `${service}.${host}`] as const);
    for (const [over, name] of ways.length > 0 ? ways : guesses) {
      if (!over || !(this.#reach(over, 4) || this.#reach(over, 6))) continue;
      const found = await this.#srv(name, over);
      if (found) return found;
    }
    return undefined;
  }

  /** By A and AAAA. */
  async host(host: string, port: number, protocol: Protocol): Promise<Located> {
    const found = await this.#site(host, port || defaultPort(protocol), protocol);
    if (!("site" in found)) return found;
    const { site, ...holds } = found;
    return { kind: "located", location: [site], ...holds };
  }

  async #srv(name: string, protocol: Protocol): Promise<Located | undefined> {
    const answer = await this.#resolver.srv(name);
    if (answer.kind === "none") return undefined;
    if (answer.kind === "trouble") return answer;
    const records = usable(answer.records);
    const sites = await Promise.all(records.map((record) => this.#site(record.name, record.port, protocol, record)));
    const found = sites.filter((site) => "site" in site);
    if (found.length > 0) {
      const ttl = Math.min(serviceTtl, ...found.map((site) => site.ttl));
      const stale = found.some((site) => site.stale);
      return { kind: "located", location: found.map(({ site }) => site), ttl, ...(stale && { stale }) };
    }
    const trouble = sites.find((site) => "kind" in site && site.kind === "trouble");
    if (trouble && "kind" in trouble) return trouble;
    // A target of "." says that there is no such service (RFC 2782); A and AAAA are not asked then.
    const detail = records.length === 0 ? `${name} offers no service` : `no target of ${name} has an address`;
    return { kind: "nowhere", detail };
  }

  async #site(
    host: string,
    port: number,
    protocol: Protocol,
    { priority, weight } = { priority: 0, weight: 0 },
  ): Promise<FoundSite | Exclude<Located, { kind: "located" }>> {
    const families = ([4, 6] as const).filter((family) => this.#reach(protocol, family));
    const answers = await Promise.all(families.map((family) => this.#resolver.addresses(host, family)));
    const found = believable(answers);
    if (found.length > 0) {
      const addresses = [...new Set(found.map(({ address }) => address))].slice(0, maxAddresses);
      const endpoints = addresses.map((address) => ({ protocol, address, port }));
      return { site: { host, priority, weight, endpoints }, ttl: Math.min(...found.map(({ ttl }) => ttl)) };
    }
    const trouble = answers.find((answer) => answer.kind === "trouble");
    if (!trouble) return { kind: "nowhere", detail: `${host} has no address that can be reached` };
    const known = this.#before?.find((site) => site.host === host && site.endpoints[0]?.port === port);
    // Asked again as soon as may be.
    return known ? { site: { ...known, priority, weight }, ttl: 0, stale: true } : trouble;
  }
}

/** Without records that are lies: no target, no port. */
function usable(records: readonly SrvRecord[]): SrvRecord[] {
  return records
    .filter(({ name, port }) => name !== "" && name !== "." && port > 0)
    .sort((a, b) => a.priority - b.priority)
    .slice(0, maxSrv);
}

/** Addresses of nobody or of everybody: 0.0.0.0/8, multicast and what is above it, ::, ff00::/8. */
const nobody = /^(?:0|22[4-9]|2[3-5]\d)\.|^::$|^ff[\da-f]{2}:/i;

function believable(answers: readonly Answer<AddressRecord>[]): AddressRecord[] {
  const records = answers.flatMap((answer) => (answer.kind === "records" ? answer.records : []));
  return records.filter(({ address }) => !nobody.test(address));
}
