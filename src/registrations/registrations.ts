import type { SessionAgent } from "../agents/session-agent.ts";
import type { Registrar } from "../calls/call-manager.ts";
import { hopsLeft } from "../calls/headers.ts";
import type { LocalCause } from "../calls/local-responses.ts";
import { RoutedRequest, type RoutedRequestParts } from "../calls/routed-request.ts";
import { routeRequestOf } from "../calls/routes.ts";
import { type Timer, wallMinusMonotonic } from "../clock.ts";
import type { RealmConfig, RegistrationLimits } from "../config/config.ts";
import type { Router } from "../routing/router.ts";
import { parseUri } from "../signalling/addresses.ts";
import type { Phone } from "../signalling/next-hop.ts";
import type { IncomingRequest } from "../signalling/port.ts";
import { readRegistration } from "../signalling/registration.ts";
import { Bindings, isOurs } from "./bindings.ts";
import { edgeProxiesOf } from "./edge-proxy.ts";
import { Enrolment } from "./enrolment.ts";
import { type RegistrationSnapshot, snapshotOf } from "./snapshot.ts";

export interface RegistrationParts extends RoutedRequestParts {
  readonly router: Router;
}

/** How often what has expired is forgotten. It is never shown or used after its time all the same. */
const sweepEvery = 10_000;

/** Relays REGISTERs to registrars, with ourselves in the place of the phone, and remembers which phone is behind which Contact. */
export class Registrations implements Registrar {
  readonly counters = { received: 0, answered: 0, refused: 0, expired: 0 };
  readonly #parts: RegistrationParts;
  readonly #limits: RegistrationLimits;
  readonly #bindings = new Bindings();
  /** New Contacts in REGISTERs that are not answered yet, since the engine was last lost: it takes the answers with it. */
  #asked = { contacts: 0 };
  #sweeper: Timer | undefined;

  constructor(limits: RegistrationLimits, parts: RegistrationParts) {
    this.#limits = limits;
    this.#parts = parts;
    parts.signalling.whenLost(() => {
      this.#asked = { contacts: 0 };
    });
  }

  get size(): number {
    return this.#bindings.size;
  }

  register(request: IncomingRequest, realm: RealmConfig, from?: SessionAgent): void {
    this.counters.received++;
    const enrolment = this.#enrol(request, from);
    if (!(enrolment instanceof Enrolment)) {
      this.counters.refused++;
      const unsupported = enrolment === "bad-extension" ? { unsupported: "path" } : {};
      request.respond(this.#parts.replies.for(enrolment, unsupported));
      return;
    }
    // Those that registrars have yet to grant are counted too, or a flood would be over the cap before the first answer.
    const { added } = enrolment.growth();
    const asked = this.#asked;
    asked.contacts += added;
    const { clock, router } = this.#parts;
    const { user, host } = enrolment.registration.aor;
    // The request URI of a REGISTER names the registrar's domain, not whom it is about (RFC 3261 section 10.2).
    const plan = router.plan({ ...routeRequestOf(request, realm, clock, from), to: user, toHost: host });
    new RoutedRequest(request, plan, this.#parts, {
      from,
      outgoing: (to) => enrolment.outgoing(to),
      answered: (response, reply, { hop }) => {
        this.counters.answered++;
        if (response.status < 300) enrolment.granted(response, reply, hop.name);
        this.#sweepLater();
      },
      ended: () => {
        asked.contacts -= added;
      },
    }).start();
  }

  phoneAt(user: string): Phone | "gone" | undefined {
    if (!isOurs(user)) return undefined;
    const binding = this.#bindings.get(user, this.#parts.clock.now());
    const contact = binding && parseUri(binding.contact);
    return binding && contact ? { ...binding, contact } : "gone";
  }

  /** At most `limit` registrations, of one address of record (`user@host`) where it is given. */
  list(limit: number, aor?: string): RegistrationSnapshot[] {
    const now = this.#parts.clock.now();
    const ahead = wallMinusMonotonic(this.#parts.clock);
    const shown: RegistrationSnapshot[] = [];
    for (const binding of aor === undefined ? this.#bindings : this.#bindings.of(aor, now)) {
      if (shown.length >= limit) break;
      if (binding.expiresAt > now) shown.push(snapshotOf(binding, ahead));
    }
    return shown;
  }

  stop(): void {
    this.#sweeper?.cancel();
    this.#sweeper = undefined;
  }

  #enrol(request: IncomingRequest, from?: SessionAgent): Enrolment | LocalCause {
    if (hopsLeft(request.headers) < 0) return "too-many-hops";
    const registration = readRegistration(request.headers);
    if (!registration) return "bad-request";
    const { clock, signalling } = this.#parts;
    const proxies = edgeProxiesOf(request, signalling.takesRoute, from);
    if (typeof proxies === "string") return proxies;
    const bindings = this.#bindings;
    const enrolment = new Enrolment(request, registration, proxies.path, { bindings, clock, signalling });
    const { added, contacts } = enrolment.growth();
    if (contacts > this.#limits["max-contacts"]) return "too-many-contacts";
    return added > 0 && this.#bindings.size + this.#asked.contacts + added > this.#limits["max-registrations"]
      ? "too-many-registrations"
      : enrolment;
  }

  #sweepLater(): void {
    if (this.#sweeper || this.#bindings.size === 0) return;
    const { clock } = this.#parts;
    this.#sweeper = clock.after(sweepEvery, () => {
      this.#sweeper = undefined;
      this.counters.expired += this.#bindings.sweep(clock.now());
      this.#sweepLater();
    });
  }
}
