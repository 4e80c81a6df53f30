import { isIP } from "node:net";
import type { Question } from "../../names/locate.ts";
import { type HostPort, parseUri, type SipUri } from "../message/uri.ts";
import type { Flow, Target, Watch } from "../transport/transport.ts";
import type { FlowOptions } from "../transport/transports.ts";
import { listenerOf, senderOf } from "./path-back.ts";

/** What is needed of the transport layer to send. */
export interface Ways {
  flowTo(target: Target, options?: FlowOptions): Flow | undefined;
  pathBack(peer: Target, local: HostPort, watch: Watch): Flow | undefined;
  isLocal(host: string, port: number): boolean;
}

/** Finds where names lead (RFC 3263). */
export interface Names {
  /** Calls `then` once, at once where it is known. The best endpoint comes first. */
  find(
    question: Question,
    then: (found: { readonly endpoints: readonly Target[] } | { readonly failure: string }) => void,
  ): void;
}

/** Why a request cannot be sent: `invalid` URI, no listener to send from, the engine `itself` as target, unknown `name`. */
export type NoWay = "invalid" | "no-transport" | "itself" | "name";

export interface WayOptions {
  readonly watch?: Watch;
  /** What the peer is asked for by, where the URI tells its address alone. */
  readonly name?: string | undefined;
  /** The listener to send from, where the URI says none. */
  readonly from?: HostPort | undefined;
}

/** Finds the way to the host of a URI. */
export class WayOut {
  readonly #ways: Ways;
  readonly #names: Names;

  constructor(ways: Ways, names: Names) {
    this.#ways = ways;
    this.#names = names;
  }

  /**
   * Calls `then` once: at once for a numeric address, later when a name has to be resolved. `begins` a dialog or stands alone:
   * then it must not lead back to the engine itself, as the path of a dialog rightly may. Pings and the like take no peer's
   * watch away from those that calls go to.
   */
  find(
    uri: string,
    begins: boolean,
    then: (way: Flow | NoWay) => void,
    { watch = "if-room", name, from }: WayOptions = {},
  ): void {
    const parsed = parseUri(uri);
    const question = parsed && questionOf(parsed);
    if (parsed === undefined || question === undefined) {
      then("invalid");
      return;
    }
    const protocol = question.secure ? "tls" : (question.protocol ?? "udp");
    const target = { protocol, address: question.host, port: question.port || (protocol === "tls" ? 5_061 : 5_060) };
    const local = listenerOf(parsed);
    if (local !== undefined) {
      then(this.#ways.pathBack(target, local, watch) ?? "no-transport");
      return;
    }
    const peer = name ?? question.host;
    const options = { watch, local: senderOf(parsed) ?? from };
    if (isIP(question.host) !== 0) {
      then(this.#flowTo(target, peer, begins, options));
      return;
    }
    this.#names.find(question, (found) => {
      const [best] = "failure" in found ? [] : found.endpoints;
      then(best ? this.#flowTo(best, peer, begins, options) : "name");
    });
  }

  /** Whether a URI names the engine itself, as far as its numeric address tells. */
  leadsHere(uri: SipUri): boolean {
    const { host, port, secure } = uri;
    return isIP(host) !== 0 && this.#ways.isLocal(host, port || (secure ? 5_061 : 5_060));
  }

  #flowTo(target: Target, peer: string, begins: boolean, options: FlowOptions): Flow | NoWay {
    if (begins && this.#ways.isLocal(target.address, target.port)) return "itself";
    // The name that was asked for is what the peer's certificate has to show (RFC 5922 section 7.1).
    const named = target.protocol === "tls" && isIP(peer) === 0 ? { ...target, name: peer } : target;
    return this.#ways.flowTo(named, options) ?? "no-transport";
  }
}

/** RFC 3263 section 4: what the URI says of the transport and the port holds. Undefined for a transport that is not ours. */
function questionOf(uri: SipUri): Question | undefined {
  const { secure, port } = uri;
  const host = uri.param("maddr") || uri.host;
  const transport = uri.param("transport")?.toLowerCase();
  if (transport === undefined) return { host, port, secure };
  if (transport !== "udp" && transport !== "tcp" && transport !== "tls") return undefined;
  return { host, port, protocol: transport, secure };
}
