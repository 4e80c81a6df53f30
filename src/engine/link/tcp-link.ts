import { createServer, type Server, type Socket } from "node:net";
import { WeirError } from "../../errors.ts";
import type { AppLink, AppPeer, LinkHost } from "./app-link.ts";
import { FrameQueue } from "./frame-queue.ts";
import { encodeFrame, FrameReader, FramingError } from "./frames.ts";

/** Bytes. An application that reads so slowly that this much waits for it is disconnected. */
const maxBacklog = 64 * 1024 * 1024;

export interface TcpLinkOptions {
  readonly host: string;
  /** 0 = any free port; see `TcpLinkServer.port`. */
  readonly port: number;
  readonly secret: string;
  readonly log?: LinkLog;
}

/** Hears of applications that come and go. */
export interface LinkLog {
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
}

class TcpLink implements AppLink {
  readonly packed = false;
  readonly reportTrying = false;
  readonly routesEverything = false;
  readonly peer: string;
  readonly #socket: Socket;
  readonly #queue: FrameQueue;
  readonly #session: AppPeer;
  readonly #reader = new FrameReader();
  #known = false;

  constructor(
    host: LinkHost,
    socket: Socket,
    readonly secret: string,
    readonly log: LinkLog | undefined,
  ) {
    this.#socket = socket;
    this.peer = `${socket.remoteAddress}:${socket.remotePort}`;
    this.#queue = new FrameQueue(
      (stage) => host.appStage(stage),
      (payloads) => this.#write(payloads),
    );
    this.#session = host.attach(this);
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 45_000);
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => this.#read(chunk));
    // What went wrong matters to nobody: `close` follows, and ends the application's calls.
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#queue.clear();
      this.#session.closed();
      if (this.#known) log?.info({ application: this.peer }, "application gone");
    });
  }

  authenticated(right: boolean): void {
    const detail = { application: this.peer };
    if (!right) this.log?.warn(detail, "application refused: wrong secret");
    else if (!this.#known) this.log?.info(detail, "application connected");
    this.#known = right;
  }

  deliver(payload: string, apart?: boolean): void {
    this.#queue.push(payload, apart);
  }

  close(): void {
    this.#queue.push("");
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #read(chunk: string): void {
    try {
      for (const payload of this.#reader.read(chunk)) this.#session.receive(payload);
    } catch (error) {
      if (!(error instanceof FramingError)) throw error;
      this.#socket.destroy();
    }
  }

  #write(payloads: readonly string[]): void {
    const last = payloads.indexOf("");
    const text = (last < 0 ? payloads : payloads.slice(0, last)).map(encodeFrame).join("");
    if (text !== "" && !this.#socket.destroyed) this.#socket.write(text, "latin1");
    if (last >= 0) this.#socket.end();
    else if (this.#socket.writableLength > maxBacklog) this.#socket.destroy();
  }
}

/** Accepts applications over TCP, as drachtio-server does on its admin port. */
export class TcpLinkServer {
  readonly #server: Server;
  readonly #options: TcpLinkOptions;
  readonly #links = new Set<TcpLink>();

  constructor(host: LinkHost, options: TcpLinkOptions) {
    this.#options = options;
    this.#server = createServer((socket) => {
      const link = new TcpLink(host, socket, options.secret, options.log);
      this.#links.add(link);
      socket.on("close", () => this.#links.delete(link));
    });
  }

  /** The port bound, 0 before `start`. */
  get port(): number {
    const address = this.#server.address();
    return address !== null && typeof address === "object" ? address.port : 0;
  }

  /** Throws WEIR_LISTEN_FAILED. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      const failed = (cause: Error): void => {
        const { host, port } = this.#options;
        reject(new WeirError("WEIR_LISTEN_FAILED", { address: `tcp://${host}:${port}` }, { cause }));
      };
      this.#server.once("error", failed);
      this.#server.listen(this.#options.port, this.#options.host, () => {
        this.#server.off("error", failed);
        resolve();
      });
    });
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      for (const link of this.#links) link.destroy();
    });
  }
}
