import type { AgentParams } from "../agents/params.ts";
import type { Endpoint } from "../location.ts";
import { hostPort, type SipUri } from "./addresses.ts";
import { nearestHop } from "./path.ts";
import type { Source } from "./port.ts";

/** Where a request goes, in the words of a URI. */
export interface NextHop {
  /** The agent's hostname, the phone's address of record, or the address as configured: for traces and logs. */
  readonly name: string;
  /** `host:port`, IPv6 in brackets. */
  readonly address: string;
  /** `;transport=tcp`, or "" for UDP, which is what a URI without it means (RFC 3263 section 4.1). */
  readonly transport: string;
  /** To be asked by a SIPS URI, whatever URI the caller used. */
  readonly secure?: true;
  /** Which of the addresses that the agent's name leads to; undefined where `address` says it. */
  readonly endpoint?: Endpoint;
  /** `host:port` of the listener that requests leave from, where there is a choice. */
  readonly listener?: string;
  /** A SIP URI of where requests are sent, whatever the address: the connection of a phone, or the proxy before it. */
  readonly path?: string;
  /** Proxies that they pass before it, as a Route field. */
  readonly route?: string;
  /** Their request URI, where it is not to be made of the caller's. */
  readonly requestUri?: string;
}

/** A phone as its registration tells. */
export interface Phone {
  /** `user@host`. */
  readonly aor: string;
  readonly contact: SipUri;
  readonly source: Source;
  /** `host:port` of the listener that its REGISTER came in at. */
  readonly receivedOn: string;
  /** Proxies that requests to it pass, as a Route field; "" for none. */
  readonly path: string;
}

/** `endpoint`: of an agent known by name. Its URI bears the name all the same (RFC 3263 section 4). */
export function hopOfAgent(params: AgentParams, endpoint?: Endpoint): NextHop {
  return {
    name: params.hostname,
    address: hostPort(params["ip-address"] || params.hostname, params.port),
    transport: transportParam(params["transport-method"].toLowerCase()),
    ...(endpoint && { endpoint }),
    ...(params.listener !== undefined && { listener: params.listener }),
  };
}

/** Requests to a phone are for its own Contact, and go the way that its REGISTER came by, or that its Path tells. */
export function hopOfPhone(phone: Phone): NextHop {
  const { aor, contact } = phone;
  return {
    name: aor,
    address: hostPort(contact.host, contact.port),
    requestUri: contact.toString().split("?", 1)[0] ?? "",
    ...(nearestProxy(phone) ?? connectionOf(phone)),
  };
}

type Way = Pick<NextHop, "transport" | "path" | "route" | "secure">;

function connectionOf({ contact, source, receivedOn }: Phone): Way {
  const { protocol, address, port } = source;
  return {
    transport: transportParam(protocol),
    path: `sip:${hostPort(address, port)};transport=${protocol};ob=${receivedOn}`,
    ...(contact.secure && protocol === "tls" && { secure: true }),
  };
}

/** RFC 3327 section 5.4. */
function nearestProxy({ contact, receivedOn, path }: Phone): Way | undefined {
  const proxy = nearestHop(path);
  if (!proxy) return undefined;
  const { scheme, secure } = proxy;
  const transport = secure ? "" : transportParam(proxy.param("transport")?.toLowerCase() ?? "udp");
  return {
    transport: secure ? transportParam("tls") : transport,
    path: `${scheme}:${hostPort(proxy.param("maddr") || proxy.host, proxy.port)}${transport};local=${receivedOn}`,
    route: path,
    ...((secure || contact.secure) && { secure: true }),
  };
}

/** What a request is given beside its URI: the address to send it to. Nothing where the URI says it. */
export function routeTo({ path, endpoint, listener, address, transport }: Route): { readonly nextHop?: string } {
  if (path !== undefined) return { nextHop: path };
  const from = listener === undefined ? "" : `;local=${listener}`;
  if (endpoint) {
    return { nextHop: `sip:${hostPort(endpoint.address, endpoint.port)}${transportParam(endpoint.protocol)}${from}` };
  }
  return from === "" ? {} : { nextHop: `sip:${address}${transport}${from}` };
}

type Route = Pick<NextHop, "path" | "endpoint" | "listener" | "address" | "transport">;

const transportParam = (protocol: string): string => (protocol === "udp" ? "" : `;transport=${protocol}`);
