import { hash } from "node:crypto";
import { isIP } from "node:net";
import { dropOption, hasOption, relayedRequestHeaders, relocated, type SentRequest, toHop } from "../calls/headers.ts";
import type { Candidate, NextHop } from "../calls/next-hop.ts";
import type { Clock } from "../clock.ts";
import { hostPort, parseNameAddr, parseUri, type SipUri } from "../signalling/addresses.ts";
import type { IncomingRequest, IncomingResponse, Signalling } from "../signalling/port.ts";
import { type RegisteredContact, type Registration, readContacts, withExpires } from "../signalling/registration.ts";
import { type Bindings, userFor } from "./bindings.ts";

/** RFC 3261 section 10.2.1.1 leaves it to the registrar; one that does not say either means this. */
const defaultExpires = 3_600;

/** Options between a phone and us: what we are to the registrar is the phone, and no edge proxy of RFC 3327 or RFC 5626. */
const ofOneHop = ["path", "outbound"];

/**
 * The domain of an address of record is the registrar's own affair and passes. A phone that knows only our address names
 * that, which means nothing to the registrar: it gets its own.
 */
function inDomain(address: string | undefined, hop: NextHop): string {
  const named = parseNameAddr(address ?? "");
  const uri = named && parseUri(named.uri);
  return toHop(address ?? "", uri && !isAddress(uri) ? hostPort(uri.host, uri.port) : hop.address);
}

const isAddress = ({ host }: SipUri): boolean => isIP(host) !== 0;

/** What an enrolment needs of the program. */
interface EnrolmentParts {
  readonly bindings: Bindings;
  readonly clock: Clock;
  readonly signalling: Pick<Signalling, "takesStar">;
}

/** One REGISTER on its way to a registrar, and what its answer means. */
export class Enrolment {
  readonly registration: Registration;
  readonly #request: IncomingRequest;
  /** Proxies before the phone, as a Route field; "" for none. */
  readonly #path: string;
  readonly #bindings: Bindings;
  readonly #clock: Clock;
  readonly #takesStar: boolean;
  readonly #aor: string;
  /** The Contacts of the REGISTER by the user part that stands for each. */
  readonly #own = new Map<string, RegisteredContact>();

  constructor(
    request: IncomingRequest,
    registration: Registration,
    path: string,
    { bindings, clock, signalling }: EnrolmentParts,
  ) {
    this.#request = request;
    this.registration = registration;
    this.#path = path;
    this.#bindings = bindings;
    this.#clock = clock;
    this.#takesStar = signalling.takesStar;
    const { user, host } = registration.aor;
    this.#aor = `${user}@${host.toLowerCase()}`;
    for (const contact of registration.contacts) this.#own.set(userFor(this.#aor, contact.address), contact);
  }

  /** Bindings that it would add, and Contacts that its address of record would then have. */
  growth(): { readonly added: number; readonly contacts: number } {
    const known = this.#bindings.of(this.#aor, this.#clock.now());
    let added = 0;
    for (const [user, { expires }] of this.#own) {
      if (expires !== 0 && !known.some((binding) => binding.user === user)) added++;
    }
    return { added, contacts: added === 0 ? 0 : known.length + added };
  }

  /** To the registrar it is a phone at our address. Each phone keeps a Call-ID, and its order of CSeq (RFC 3261 section 10.2.4). */
  outgoing({ hop }: Candidate): SentRequest {
    const { uri, headers } = this.#request;
    const passed = relayedRequestHeaders(headers);
    for (const option of ofOneHop) for (const list of ["supported", "require"]) dropOption(passed, list, option);
    passed.from = inDomain(headers.from, hop);
    passed.to = inDomain(headers.to, hop);
    passed["call-id"] = hash("sha256", headers["call-id"] ?? "").slice(0, 32);
    passed.cseq = headers.cseq ?? "1 REGISTER";
    const contact = this.registration.all ? this.#none(hop.transport) : this.#contacts(hop.transport);
    if (contact !== "") passed.contact = contact;
    const domain = parseUri(uri);
    const registrar = domain && !isAddress(domain) ? hostPort(domain.host, domain.port) : hop.address;
    const nextHop = `sip:${hop.address}${hop.transport}`;
    return { uri: `${relocated(uri, registrar)}${hop.transport}`, nextHop, headers: passed };
  }

  #contacts(transport: string): string {
    return Array.from(this.#own, ([user, { params }]) => `<sip:${user}@localhost${transport}>${params}`).join(", ");
  }

  /** What unregisters all Contacts; where `*` cannot be sent, those that we know. */
  #none(transport: string): string {
    if (this.#takesStar) return "*";
    const known = this.#bindings.of(this.#aor, this.#clock.now());
    return known.map(({ user }) => `<sip:${user}@localhost${transport}>;expires=0`).join(", ");
  }

  /** The registrar's 2xx: bindings are kept as it says, and the phone is shown its own Contacts in place of ours. */
  granted(response: IncomingResponse, reply: { readonly headers: Record<string, string> }, registrar: string): void {
    const now = this.#clock.now();
    const listed = readContacts(response.headers) ?? [];
    const shown: string[] = [];
    const kept = new Set<string>();
    for (const { uri, params, expires = defaultExpires } of listed) {
      const contact = this.#own.get(uri.user)?.address ?? this.#known(uri.user);
      if (contact === undefined || expires === 0) continue;
      shown.push(`<${contact}>${withExpires(params, expires)}`);
      kept.add(uri.user);
      if (this.#own.has(uri.user)) this.#keep(uri.user, contact, expires, registrar);
    }
    // Some registrars answer without a list. What was asked for is then what there is.
    if (listed.length === 0) shown.push(...this.#asAsked(response, registrar, kept));
    for (const user of this.#own.keys()) if (!kept.has(user)) this.#bindings.delete(user);
    if (this.registration.all) for (const { user } of this.#bindings.of(this.#aor, now)) this.#bindings.delete(user);
    if (shown.length > 0) reply.headers.contact = shown.join(", ");
    // Whoever says that he knows the extension is told what we keep (RFC 3327 section 5.3).
    if (this.#path !== "" && hasOption(this.#request.headers.supported, "path")) reply.headers.path = this.#path;
  }

  #asAsked(response: IncomingResponse, registrar: string, kept: Set<string>): string[] {
    const said = Number.parseInt(response.headers.expires ?? "", 10);
    const shown: string[] = [];
    for (const [user, { address, params, expires: asked }] of this.#own) {
      const expires = asked === 0 || Number.isNaN(said) ? (asked ?? defaultExpires) : said;
      if (expires === 0) continue;
      this.#keep(user, address, expires, registrar);
      kept.add(user);
      shown.push(`<${address}>${withExpires(params, expires)}`);
    }
    return shown;
  }

  /** Another Contact of the same address of record. */
  #known(user: string): string | undefined {
    const binding = this.#bindings.get(user, this.#clock.now());
    return binding?.aor === this.#aor ? binding.contact : undefined;
  }

  #keep(user: string, contact: string, expires: number, registrar: string): void {
    const expiresAt = this.#clock.now() + expires * 1_000;
    const { source, receivedOn } = this.#request;
    const path = this.#path;
    this.#bindings.put({ user, aor: this.#aor, contact, source, receivedOn, path, registrar, expiresAt });
  }
}
