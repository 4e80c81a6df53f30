import type { CallCounters } from "../calls/counters.ts";
import { type MetricSource, single } from "./metrics.ts";

/** What the metrics need of the calls. */
export interface WatchedCalls {
  readonly active: number;
  readonly counters: CallCounters;
  readonly subscriptions: { readonly size: number };
}

export const callMetrics = (calls: WatchedCalls): MetricSource[] => [
  single("gauge", "weir_calls_active", "Calls not ended yet.", () => calls.active),
  single(
    "gauge",
    "weir_subscriptions",
    "Subscriptions outside calls that pass through, or are asked for.",
    () => calls.subscriptions.size,
  ),
  single("counter", "weir_calls_received_total", "INVITEs outside any dialog.", () => calls.counters.received),
  single("counter", "weir_calls_answered_total", "Calls that an agent answered.", () => calls.counters.answered),
  single("counter", "weir_call_attempts_total", "Attempts of ended calls.", () => calls.counters.attempts),
  single("counter", "weir_call_failovers_total", "Attempts after a call's first.", () => calls.counters.failovers),
  labelled(
    "weir_calls_refused_total",
    "INVITEs refused before routing, by cause.",
    "cause",
    () => calls.counters.refused,
  ),
  labelled("weir_calls_ended_total", "Calls ended, by how.", "end", () => calls.counters.ended),
];

const labelled = (
  name: string,
  help: string,
  label: string,
  read: () => Readonly<Partial<Record<string, number>>>,
): MetricSource => ({
  kind: "counter",
  name,
  help,
  labels: [label],
  samples: () => Object.entries(read()).map(([key, value = 0]) => ({ labels: { [label]: key }, value })),
});
