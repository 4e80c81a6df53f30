import type { Server } from "node:net";
import { Worker } from "node:worker_threads";
import { WeirError } from "../errors.ts";
import type { NameSettings } from "../names/system-names.ts";
import type { SourceRules } from "../source-rules.ts";
import type { EngineLog } from "./core/context.ts";
import { FrameQueue } from "./link/frame-queue.ts";
import { VirtualServer } from "./link/virtual-link.ts";
import type { FromEngine, ToEngine, WorkerSettings } from "./link/worker-protocol.ts";
import type { TimerValues } from "./transaction/timers.ts";
import type { Target, TlsSettings } from "./transport/transport.ts";

export interface WorkerEngineOptions {
  readonly listen: readonly Target[];
  /** RFC 3261 table 4, milliseconds. */
  readonly timers: TimerValues;
  /** As `EngineOptions.sources`. */
  readonly sources?: readonly SourceRules[];
  /** As `EngineOptions.tls`. */
  readonly tls?: TlsSettings;
  /** As `EngineOptions.dns`. */
  readonly dns?: NameSettings | undefined;
  readonly log: EngineLog;
  /** As `AppLink.packed`. Default false. */
  readonly packed?: boolean;
  readonly reportTrying?: boolean;
  /** The thread's program, where it is not the built one. */
  readonly program?: URL;
}

const built = new URL("./worker-thread.js", import.meta.url);

/**
 * The engine in a worker thread: its parsing and its sockets leave this thread's time to the application, for about 0.1 ms of
 * CPU more per call.
 */
export class WorkerEngine {
  /** For `srf.listen({ server, secret })`. */
  readonly server: Server;
  readonly #worker: Worker;
  readonly #log: EngineLog;
  readonly #virtual: VirtualServer;
  readonly #exited: Promise<void>;
  #listening: readonly Target[] = [];
  #counters: object = {};
  #started: { resolve(): void; reject(error: Error): void } | undefined = undefined;

  constructor({
    listen,
    timers,
    log,
    sources = [],
    tls,
    dns,
    packed = false,
    reportTrying = true,
    program = built,
  }: WorkerEngineOptions) {
    const workerData: WorkerSettings = { listen, timers, sources, tls, dns, packed, reportTrying };
    this.#worker = new Worker(program, { workerData });
    this.#exited = new Promise((resolve) => this.#worker.once("exit", () => resolve()));
    this.#log = log;
    const queue = new FrameQueue(queueMicrotask, (payloads) => this.#tell({ kind: "frames", payloads }));
    this.#virtual = new VirtualServer(
      (payload) => queue.push(payload),
      () => this.#tell({ kind: "gone" }),
    );
    this.server = this.#virtual;
    this.#worker.on("message", (message: FromEngine) => this.#hear(message));
    this.#worker.on("error", (error) => this.#died(error));
  }

  /** With the real ports where 0 was asked for; empty before `start`. */
  get listening(): readonly Target[] {
    return this.#listening;
  }

  /** As `Engine.counters`, up to a second old; empty in the first second. */
  get counters(): object {
    return this.#counters;
  }

  /** Binds every address or none. Throws WEIR_LISTEN_FAILED. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#started = { resolve, reject };
      this.#tell({ kind: "start" });
    });
  }

  /** As `Engine.knowAgents`. */
  knowAgents(realm: string, addresses: readonly string[]): void {
    this.#tell({ kind: "agents", realm, addresses });
  }

  /** Ends the application's calls, closes the sockets and ends the thread. */
  stop(): Promise<void> {
    this.#tell({ kind: "stop" });
    return this.#exited;
  }

  #tell(message: ToEngine): void {
    this.#worker.postMessage(message);
  }

  #hear(message: FromEngine): void {
    switch (message.kind) {
      case "frames":
        this.#virtual.socket.deliver(message.payloads);
        return;
      case "started":
        this.#listening = message.listening;
        this.#started?.resolve();
        return;
      case "failed":
        this.#started?.reject(
          new WeirError("WEIR_LISTEN_FAILED", message.detail, { cause: new Error(message.reason) }),
        );
        return;
      case "counters":
        this.#counters = message.counters;
        return;
      case "log":
        this.#log[message.level](message.detail, message.message);
        return;
      case "stopped":
        this.#virtual.socket.close();
        // Transactions linger for up to 64*T1 (RFC 3261 section 17); their timers would keep the thread that long.
        void this.#worker.terminate();
        return;
    }
  }

  #died(error: unknown): void {
    this.#log.warn({ reason: String(error) }, "the engine's thread has died");
    this.#started?.reject(new WeirError("WEIR_ENGINE_UNREACHABLE", {}, { cause: error }));
    this.#virtual.socket.close();
  }
}

/** Starts the engine in a worker thread and binds its addresses. Throws WEIR_LISTEN_FAILED, WEIR_ENGINE_UNREACHABLE. */
export async function startWorkerEngine(options: WorkerEngineOptions): Promise<WorkerEngine> {
  const engine = new WorkerEngine(options);
  try {
    await engine.start();
  } catch (error) {
    await engine.stop();
    throw error;
  }
  return engine;
}
