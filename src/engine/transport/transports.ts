import type { Clock } from "../../clock.ts";
import { WeirError } from "../../errors.ts";
import type { SipMessage } from "../message/sip-message.ts";
import type { HostPort } from "../message/uri.ts";
import { defaultPort, familyOf, isListening, isWildcard, listenerAt, normalAddress } from "./addresses.ts";
import { newCounters, type TransportCounters } from "./counters.ts";
import { defaultLimits, type TransportLimits } from "./limits.ts";
import { ReturnPath } from "./return-path.ts";
import { StreamConnection, type StreamDeps } from "./stream-connection.ts";
import { StreamListener } from "./stream-listener.ts";
import { tcpSockets } from "./stream-sockets.ts";
import { TlsCredentials } from "./tls-credentials.ts";
import { type TlsSettings, withoutTls } from "./tls-settings.ts";
import { TlsSockets } from "./tls-sockets.ts";
import type { Flow, Target, TransportHandlers, Watch } from "./transport.ts";
import { Turn } from "./turn.ts";
import { UdpListener } from "./udp-listener.ts";

export interface TransportsOptions {
  readonly clock: Clock;
  readonly limits?: Partial<TransportLimits>;
  /** Needed where TLS is listened on. */
  readonly tls?: TlsSettings;
  /** Hears what an operator should know. */
  readonly warn?: (detail: object, message: string) => void;
}

export interface FlowOptions {
  readonly watch?: Watch | undefined;
  readonly local?: HostPort | undefined;
}

/** All listening addresses and the flows from them. RFC 3261 section 18. */
export class Transports {
  readonly counters: TransportCounters = newCounters();
  readonly #turn: Turn;
  readonly #udp: UdpListener[] = [];
  readonly #streams: Readonly<Record<"tcp" | "tls", StreamListener[]>> = { tcp: [], tls: [] };
  readonly #listeners: readonly (UdpListener | StreamListener)[];
  readonly #tls: TlsCredentials | undefined;

  constructor(listen: readonly Target[], handlers: TransportHandlers, options: TransportsOptions) {
    const { counters } = this;
    const { clock, tls, warn = () => {} } = options;
    const limits = { ...defaultLimits, ...options.limits };
    const turn = new Turn(handlers, counters);
    const deps: StreamDeps = { turn, clock, counters, limits };
    this.#turn = turn;
    if (listen.some(({ protocol }) => protocol === "tls")) {
      this.#tls = new TlsCredentials(tls ?? withoutTls, { clock, counters, warn });
    }
    for (const target of listen) {
      const { protocol } = target;
      if (protocol === "udp") {
        this.#udp.push(new UdpListener(target, { turn, counters, watchedPeers: limits.watchedPeers }));
      } else {
        const sockets = protocol === "tls" && this.#tls ? new TlsSockets(this.#tls) : tcpSockets;
        this.#streams[protocol].push(new StreamListener(target, sockets, deps));
      }
    }
    this.#listeners = [...this.#udp, ...this.#streams.tcp, ...this.#streams.tls];
  }

  /**
   * Binds every address or none. Throws WEIR_LISTEN_FAILED with `address`, `port`, `protocol` and the system's `reason` in
   * its detail; so too for TLS whose files cannot be used.
   */
  async start(): Promise<void> {
    for (const listener of this.#listeners) {
      try {
        if (listener === this.#streams.tls[0]) this.#tls?.start();
        await listener.start();
      } catch (error) {
        await this.stop();
        throw listenFailed(listener, error instanceof Error ? error.message : String(error), error);
      }
    }
  }

  /** Writes what is queued, then closes every socket. Flows still held say nothing more and hear nothing more. */
  async stop(): Promise<void> {
    this.flush();
    this.#tls?.stop();
    await Promise.all(this.#listeners.map((listener) => listener.stop()));
  }

  /** The addresses listened on, with the real port where 0 was asked for. */
  get listening(): readonly Target[] {
    return this.#listeners.map(({ protocol, address, port }) => ({ protocol, address, port }));
  }

  /**
   * The way to a target; undefined when its protocol and address family are not listened on, the address is no numeric one,
   * or the connections are used up. `watch` (UDP) has ICMP errors reported, at the price of a socket for each peer. TCP and
   * TLS take the connection there is, whoever opened it, or open one. `local`: the listener to send from, where there is it.
   */
  flowTo(target: Target, options?: FlowOptions): Flow | undefined {
    const address = normalAddress(target.address);
    if (familyOf(address) === 0 || target.port <= 0 || target.port > 65_535) return undefined;
    if (target.protocol !== "udp") {
      return listenerAt(this.#streams[target.protocol], address, options?.local)?.connectionTo({ ...target, address });
    }
    const listener = listenerAt(this.#udp, address, options?.local);
    const watch = options?.watch;
    return watch ? listener?.watch(address, target.port, watch) : listener?.flowTo(address, target.port);
  }

  /**
   * The path by which requests of `peer` came in at `local`, for requests to a peer that no other reaches. Undefined where
   * its connection has closed, or nothing listens there.
   */
  pathBack(peer: Target, local: HostPort, watch: Watch): Flow | undefined {
    const address = normalAddress(peer.address);
    const isThere = (each: Target): boolean =>
      each.port === local.port &&
      (isWildcard(each.address) || normalAddress(each.address) === normalAddress(local.host));
    if (peer.protocol === "udp") return this.#udp.find(isThere)?.watch(address, peer.port, watch);
    return this.#streams[peer.protocol].find(isThere)?.connectionWith(address, peer.port);
  }

  /**
   * The way back of the responses to a request that came by `flow` (RFC 3261 section 18.2.2, RFC 3581 section 4): the same
   * connection; with UDP `maddr`, else the source address with the source port if `rport` was asked for, else with the port
   * in the Via.
   */
  responseFlow(request: SipMessage, flow: Flow): Flow {
    const via = request.topVia;
    const port = via.port === 0 ? defaultPort(flow.protocol) : via.port;
    if (flow.reliable) {
      if (!(flow instanceof StreamConnection)) return flow;
      const target: Target = { protocol: flow.protocol, address: flow.remoteAddress, port };
      return new ReturnPath(
        flow,
        () => flow.open,
        () => this.flowTo(target),
      );
    }
    const address = familyOf(via.maddr) === 0 ? flow.remoteAddress : normalAddress(via.maddr);
    const target = address === flow.remoteAddress && via.rport !== undefined ? flow.remotePort : port;
    if (address === flow.remoteAddress && target === flow.remotePort) return flow;
    return this.#listenerOf(flow)?.flowTo(address, target) ?? flow;
  }

  /**
   * The flow itself, or a new one to the same peer where its connection has closed: for a request of its own that follows
   * another, as CANCEL does. The flow as it was where no connection can be made.
   */
  liveFlow(flow: Flow): Flow {
    if (!(flow instanceof StreamConnection) || flow.open) return flow;
    return this.flowTo(flow.target) ?? flow;
  }

  /** Whether a message to `host` (a name or an address) and `port` would come back to one of the listeners. */
  isLocal(host: string, port: number): boolean {
    return isListening(this.#listeners, host, port === 0 ? defaultPort("udp") : port);
  }

  /** Runs `job` after the messages of this turn and before what they send is written: the application's place. */
  stage(job: () => void): void {
    this.#turn.stage(job);
  }

  /** Writes now what handlers have sent in the turn that is running. */
  flush(): void {
    this.#turn.flush();
  }

  #listenerOf(flow: Flow): UdpListener | undefined {
    return this.#udp.find(
      (each) => each.port === flow.localPort && each.addressFor(flow.remoteAddress) === flow.localAddress,
    );
  }
}

function listenFailed({ protocol, address, port }: Target, reason: string, cause?: unknown): WeirError {
  return new WeirError("WEIR_LISTEN_FAILED", { protocol, address, port, reason }, { cause });
}
