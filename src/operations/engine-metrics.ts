import type { MetricSource } from "./metrics.ts";

/** Counters that go down again, beside everything in the part `alive`. */
const gauges = new Set(["connections", "watchedPeers", "certificateExpiryTimestampSeconds"]);

/**
 * The embedded engine's counters as metrics: those of its part `transports` named `messagesIn` are
 * `weir_engine_transports_messages_in_total`. A map of counters has its keys as the label `reason`.
 * Empty while there are none: an engine in another thread first has to tell of them.
 */
export function engineMetrics(counters: () => object | undefined): MetricSource[] {
  return Object.entries(counters() ?? {}).flatMap(([part, counts]: [string, object]) =>
    Object.keys(counts).map((name): MetricSource => {
      const read = (): unknown => member(member(counters(), part), name);
      const kind = part === "alive" || gauges.has(name) ? "gauge" : "counter";
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

const member = (of: unknown, name: string): unknown => (of as Readonly<Record<string, unknown>> | undefined)?.[name];

const byReason = (counts: ReadonlyMap<string, number>) =>
  Array.from(counts, ([reason, value]) => ({ labels: { reason }, value }));

const snake = (camel: string): string => camel.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
