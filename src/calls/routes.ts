import type { SessionAgent } from "../agents/session-agent.ts";
import type { Clock } from "../clock.ts";
import type { RealmConfig } from "../config/config.ts";
import { normalCarrier } from "../routing/address.ts";
import type { RouteRequest } from "../routing/policy-table.ts";
import { namedMethods, relayedMethods } from "../routing/routed-methods.ts";
import type { Router } from "../routing/router.ts";
import { parseNameAddr, parseUri } from "../signalling/addresses.ts";
import type { Phone } from "../signalling/next-hop.ts";
import type { IncomingRequest } from "../signalling/port.ts";
import { answersChallenge } from "./headers.ts";
import { type CallRoute, PhoneRoute } from "./route.ts";

/** Knows the phones that have registered through us. */
export interface PhoneBook {
  /** The phone behind the user part of a Contact of ours; undefined for any other user part. */
  phoneAt(user: string): Phone | "gone" | undefined;
}

export interface RoutesParts {
  readonly router: Router;
  readonly clock: Clock;
  readonly phones?: PhoneBook | undefined;
}

/** Finds the way of requests outside any dialog. */
export class Routes {
  readonly #router: Router;
  readonly #clock: Clock;
  readonly #phones: PhoneBook | undefined;

  constructor({ router, clock, phones }: RoutesParts) {
    this.#router = router;
    this.#clock = clock;
    this.#phones = phones;
  }

  /** By local policy, but for what is for a phone. `from`: the agent that the request is from, where it is from one. */
  of(request: IncomingRequest, realm: RealmConfig, from?: SessionAgent): CallRoute {
    const asked = routeRequestOf(request, realm, this.#clock, from);
    return this.toPhone(asked, from) ?? this.#router.plan(asked);
  }

  /** The same for a request other than INVITE and REGISTER. Undefined for one that is for ourselves, or that we do not relay. */
  ofOther(request: IncomingRequest, realm: RealmConfig, from?: SessionAgent): CallRoute | undefined {
    const { method } = request;
    const asked = routeRequestOf(request, realm, this.#clock, from);
    const phone = this.toPhone(asked, from);
    if (phone || asked.to === "" || !relayedMethods.has(method)) return phone;
    const plan = this.#router.plan(asked);
    return namedMethods.has(method) && plan.trace.hops.length === 0 ? undefined : plan;
  }

  /** Only agents may call phones by our Contacts: anybody else has to ask the registrar. */
  toPhone(asked: RouteRequest, from?: SessionAgent): CallRoute | undefined {
    const phone = from && this.#phones?.phoneAt(asked.to);
    return phone && new PhoneRoute(phone === "gone" ? undefined : phone, asked, this.#router.failover);
  }
}

/** What a request is routed by: where it is from and where its request URI leads. */
export function routeRequestOf(
  { method, uri, headers }: IncomingRequest,
  realm: RealmConfig,
  clock: Clock,
  from?: SessionAgent,
): RouteRequest {
  const caller = partsOf(parseNameAddr(headers.from ?? "")?.uri ?? "");
  const called = partsOf(uri);
  return {
    method,
    from: caller.user,
    fromHost: caller.host,
    to: called.user,
    toHost: called.host,
    sourceRealm: realm.identifier,
    at: clock.date(),
    carrier: carrierOf(uri),
    ...(from && { source: from.hostname }),
    ...(method !== "INVITE" && answersChallenge(headers) && { answersChallenge: true }),
  };
}

function partsOf(uri: string): { user: string; host: string } {
  const parsed = parseUri(uri);
  if (parsed) return { user: parsed.user, host: parsed.host };
  return { user: /^tel:/i.test(uri) ? (uri.slice(4).split(";", 1)[0] ?? "") : "", host: "" };
}

/** The carrier that the caller asks for (RFC 4694), "" for none. */
function carrierOf(uri: string): string {
  const cic = /;\s*cic=([^;@>\s]+)/i.exec(uri)?.[1];
  return cic === undefined ? "" : normalCarrier(cic);
}
