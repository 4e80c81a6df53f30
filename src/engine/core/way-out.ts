import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { parseUri, type SipUri } from "../message/uri.ts";
import type { Flow, Protocol, Target, Watch } from "../transport/transport.ts";

/** What is needed of the transport layer to send. */
export interface Ways {
  flowTo(target: Target, options?: { watch?: Watch }): Flow | undefined;
  isLocal(host: string, port: number): boolean;
}

/** Finds the address of a name. Rejects when there is none. */
export type Resolver = (host: string) => Promise<string>;

export const systemResolver: Resolver = async (host) => (await lookup(host)).address;

/** Why a request cannot be sent: `invalid` URI, no listener to send from, the engine `itself` as target, unknown `name`. */
export type NoWay = "invalid" | "no-transport" | "itself" | "name";

interface NextHop {
  readonly protocol: Protocol;
  /** A numeric address or a name. */
  readonly host: string;
  readonly port: number;
}

/** Finds the way to the host of a URI. */
export class WayOut {
  readonly #ways: Ways;
  readonly #resolve: Resolver;

  constructor(ways: Ways, resolve: Resolver) {
    this.#ways = ways;
    this.#resolve = resolve;
  }

  /**
   * Calls `then` once: at once for a numeric address, later when a name has to be resolved. `begins` a dialog or stands alone:
   * then it must not lead back to the engine itself, as the path of a dialog rightly may. Pings and the like take no peer's
   * watch away from those that calls go to.
   */
  find(uri: string, begins: boolean, then: (way: Flow | NoWay) => void, watch: Watch = "if-room"): void {
    const parsed = parseUri(uri);
    const hop = parsed && nextHopOf(parsed);
    if (hop === undefined) {
      then("invalid");
      return;
    }
    if (isIP(hop.host) !== 0) {
      then(this.#flowTo(hop, hop.host, begins, watch));
      return;
    }
    this.#resolve(hop.host).then(
      (address) => then(this.#flowTo(hop, address, begins, watch)),
      () => then("name"),
    );
  }

  #flowTo({ protocol, host, port }: NextHop, address: string, begins: boolean, watch: Watch): Flow | NoWay {
    if (begins && this.#ways.isLocal(address, port)) return "itself";
    const target = { protocol, address, port };
    // The name that was asked for is what the peer's certificate has to show (RFC 5922 section 7.1).
    const named = protocol === "tls" && host !== address ? { ...target, name: host } : target;
    return this.#ways.flowTo(named, { watch }) ?? "no-transport";
  }
}

/** RFC 3263 section 4 without NAPTR and SRV: the transport is the URI's or the scheme's, the port its own or the default. */
function nextHopOf(uri: SipUri): NextHop | undefined {
  const transport = uri.param("transport")?.toLowerCase() ?? (uri.secure ? "tls" : "udp");
  if (transport !== "udp" && transport !== "tcp" && transport !== "tls") return undefined;
  const protocol = uri.secure ? "tls" : transport;
  const defaultPort = protocol === "tls" ? 5_061 : 5_060;
  return { protocol, host: uri.param("maddr") || uri.host, port: uri.port || defaultPort };
}
