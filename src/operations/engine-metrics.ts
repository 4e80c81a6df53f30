import type { MetricSource } from "./metrics.ts";

/** Counters that go down again. */
const gauges = new Set(["connections", "watchedPeers"]);

/**
 * The embedded engine's counters as metrics: those of its part `transport` named `messagesIn` are
 * `weir_engine_transport_messages_in_total`. A map of counters has its keys as the label `reason`.
 */
export function engineMetrics(counters: object): MetricSource[] {
  return Object.entries(counters).flatMap(([part, counts]: [string, object]) =>
    Object.keys(counts).map((name): MetricSource => {
      const read = (): unknown => (counts as Record<string, unknown>)[name];
      const kind = gauges.has(name) ? "gauge" : "counter";
      const metric = {
        kind,
        name: `weir_engine_${snake(part)}_${snake(name)}${kind === "counter" ? "_total" : ""}`,
        help: `Embedded engine, ${part}: ${snake(name).replaceAll("_", " ")}.`,
      } as const;
      if (!(read() instanceof Map)) return { ...metric, samples: () => [{ labels: {}, value: Number(read()) }] };
      return { ...metric, labels: ["reason"], samples: () => byReason(read() as ReadonlyMap<string, number>) };
    }),
  );
}

const byReason = (counts: ReadonlyMap<string, number>) =>
  Array.from(counts, ([reason, value]) => ({ labels: { reason }, value }));

const snake = (camel: string): string => camel.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
