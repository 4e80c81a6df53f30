import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../clock.ts";
import { WeirError } from "../errors.ts";
import { Engine } from "./engine.ts";
import type { AppLink } from "./link/app-link.ts";
import { FrameQueue } from "./link/frame-queue.ts";
import type { FromEngine, ToEngine, WorkerSettings } from "./link/worker-protocol.ts";

/** How often the other thread is told the counters, in milliseconds. */
const countersEvery = 1_000;

/** The engine in a thread of its own, and its link to the application in the thread that started it. */
function run(port: MessagePort, settings: WorkerSettings): void {
  const tell = (message: FromEngine): void => port.postMessage(message);
  const engine = new Engine({
    listen: settings.listen,
    timers: settings.timers,
    sources: settings.sources,
    ...(settings.tls && { tls: settings.tls }),
    dns: settings.dns,
    clock: systemClock,
    log: {
      warn: (detail, message) => tell({ kind: "log", level: "warn", detail: plain(detail), message }),
      debug: (detail, message) => tell({ kind: "log", level: "debug", detail: plain(detail), message }),
    },
  });
  const queue = new FrameQueue(
    (stage) => engine.appStage(stage),
    (payloads) => tell({ kind: "frames", payloads }),
  );
  const link: AppLink = {
    peer: "application in another thread",
    packed: settings.packed,
    reportTrying: settings.reportTrying,
    routesEverything: true,
    secret: undefined,
    deliver: (payload, apart) => queue.push(payload, apart),
    close: () => {},
  };
  const session = engine.attach(link);
  const report = setInterval(() => tell({ kind: "counters", counters: engine.counters }), countersEvery);

  const handle = (message: ToEngine): void | Promise<void> => {
    switch (message.kind) {
      case "frames":
        for (const payload of message.payloads) session.receive(payload);
        return;
      case "start":
        return engine.start().then(
          () => tell({ kind: "started", listening: engine.listening }),
          (error: unknown) => tell({ kind: "failed", detail: detailOf(error), reason: reasonOf(error) }),
        );
      case "agents":
        engine.knowAgents(message.realm, message.addresses);
        return;
      case "gone":
        session.closed();
        return;
      case "stop":
        clearInterval(report);
        return engine.stop().then(() => {
          tell({ kind: "stopped" });
          port.close();
        });
    }
  };
  port.on("message", (message: ToEngine) => void handle(message));
}

/** What is behind one of our own errors, in words. */
const reasonOf = (error: unknown): string =>
  error instanceof WeirError && error.cause instanceof Error ? error.cause.message : String(error);

const detailOf = (error: unknown) => (error instanceof WeirError ? error.detail : {});

/** Errors cannot be told to another thread as they are. */
function plain(detail: object): object {
  return Object.fromEntries(
    Object.entries(detail).map(([name, value]) => [name, value instanceof Error ? value.message : value]),
  );
}

if (parentPort) run(parentPort, workerData as WorkerSettings);
