import { AssertionError } from "node:assert";
import { Server, Socket } from "node:net";
import type { AppLink, AppPeer, LinkHost } from "./app-link.ts";
import { FrameQueue } from "./frame-queue.ts";
import { toByteText } from "./frames.ts";

/** What a virtual socket writes into: the engine's session, or a port to the thread the engine runs in. */
export type PayloadSink = (payload: string) => void;

/**
 * A `net.Socket` without a network: what drachtio-srf writes goes to `sink` at once, what the engine says is emitted as
 * `data`. drachtio-srf ends the socket after a request that no handler took and forgets all it knew of it, so `end` and
 * `destroy` cut nothing: the same socket is announced to the server again.
 *
 * Texts are latin1 (one character per byte); drachtio-srf decodes UTF-8, so `data` carries them encoded as UTF-8.
 */
export class VirtualSocket extends Socket {
  readonly #sink: PayloadSink;
  readonly #announce: (socket: VirtualSocket) => void;
  #waiting: string[] = [];
  #cut = false;
  #over = false;

  constructor(sink: PayloadSink, announce: (socket: VirtualSocket) => void) {
    super();
    this.#sink = sink;
    this.#announce = announce;
    // drachtio-srf wants an address of its server; a socket without a network has none of its own.
    Object.defineProperties(this, {
      remoteAddress: { value: "127.0.0.1" },
      remotePort: { value: 0 },
      localPort: { value: 0 },
    });
  }

  /** drachtio-srf writes one whole frame per call. Its callback only logs, so it is not called. */
  override write(data: Uint8Array | string): boolean {
    const frame = typeof data === "string" ? data : Buffer.from(data).toString("utf8");
    if (!this.#over) this.#sink(toByteText(frame.slice(frame.indexOf("#") + 1)));
    return true;
  }

  override setKeepAlive(): this {
    return this;
  }

  override setNoDelay(): this {
    return this;
  }

  override end(): this {
    this.#reconnect();
    return this;
  }

  override destroy(): this {
    this.#reconnect();
    return this;
  }

  /** Hands payloads to the application, one `data` event each: a handler that throws loses only its own frame. */
  deliver(payloads: readonly string[]): void {
    for (const [index, payload] of payloads.entries()) {
      if (this.#cut) {
        this.#waiting.push(...payloads.slice(index));
        return;
      }
      this.emit("data", utf8Frame(payload));
    }
  }

  /** The end for good: the engine stopped, or the application closed its server. */
  close(): void {
    if (this.#over) return;
    this.#over = true;
    this.emit("close", false);
    this.removeAllListeners();
  }

  #reconnect(): void {
    if (this.#cut || this.#over) return;
    this.#cut = true;
    // Not at once: drachtio-srf drops its record of the socket only after `end` has returned.
    setImmediate(() => {
      this.#cut = false;
      if (this.#over) return;
      this.removeAllListeners();
      this.#announce(this);
      const waiting = this.#waiting;
      this.#waiting = [];
      this.deliver(waiting);
    });
  }
}

const prefixLength = 9;

/**
 * The frame as drachtio-srf reads it. The length is written with leading zeros, so that it has its place before the text is
 * encoded: measuring first would take as long as encoding.
 */
function utf8Frame(payload: string): Buffer {
  // A character of latin1 text takes two bytes at most.
  const frame = Buffer.allocUnsafe(prefixLength + payload.length * 2);
  const length = frame.write(payload, prefixLength, "utf8");
  frame.write(`${String(length).padStart(prefixLength - 1, "0")}#`, 0, "latin1");
  return frame.subarray(0, prefixLength + length);
}

/** The `net.Server` given to `srf.listen({ server })`: it never listens, and has one connection, the virtual socket. */
export class VirtualServer extends Server {
  readonly socket: VirtualSocket;
  readonly #closed: () => void;

  constructor(sink: PayloadSink, closed: () => void) {
    super();
    this.#closed = closed;
    this.socket = new VirtualSocket(sink, (socket) => this.#connect(socket));
    const listening = (event: string | symbol): void => {
      if (event !== "connection") return;
      this.off("newListener", listening);
      setImmediate(() => this.#connect(this.socket));
    };
    this.on("newListener", listening);
  }

  /** What `srf.close()` calls. */
  override close(callback?: (error?: Error) => void): this {
    this.socket.close();
    this.#closed();
    setImmediate(() => {
      this.emit("close");
      callback?.();
    });
    return this;
  }

  #connect(socket: VirtualSocket): void {
    try {
      this.emit("connection", socket);
    } catch (error) {
      // drachtio-srf asserts that it does not know the socket. If it does, it has lost nothing, and its listeners are back.
      if (!(error instanceof AssertionError)) throw error;
    }
  }
}

export interface VirtualLinkOptions {
  /** As `AppLink.packed`. Default false. */
  readonly packed?: boolean;
  /** Pass 100 responses to INVITE up. Default true. */
  readonly reportTrying?: boolean;
}

class VirtualLink implements AppLink {
  readonly peer = "in-process application";
  readonly routesEverything = true;
  readonly secret = undefined;
  readonly packed: boolean;
  readonly reportTrying: boolean;
  readonly #queue: FrameQueue;
  readonly server: VirtualServer;

  constructor(host: LinkHost, options: VirtualLinkOptions) {
    this.packed = options.packed ?? false;
    this.reportTrying = options.reportTrying ?? true;
    const session: AppPeer = host.attach(this);
    this.server = new VirtualServer(
      (payload) => session.receive(payload),
      () => session.closed(),
    );
    this.#queue = new FrameQueue(
      (stage) => host.appStage(stage),
      (payloads) => this.server.socket.deliver(payloads),
    );
  }

  deliver(payload: string, apart?: boolean): void {
    this.#queue.push(payload, apart);
  }

  close(): void {
    this.server.socket.close();
  }
}

/**
 * Links an application in this thread to the engine: `srf.listen({ server: createVirtualLink(engine), secret })`.
 * drachtio-srf emits `connect` once the link is up.
 */
export function createVirtualLink(host: LinkHost, options: VirtualLinkOptions = {}): Server {
  return new VirtualLink(host, options).server;
}
