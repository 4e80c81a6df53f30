import { type MetricSource, single } from "./metrics.ts";

/** What the metrics need of the registrations. */
export interface WatchedRegistrations {
  readonly size: number;
  readonly counters: {
    readonly received: number;
    readonly answered: number;
    readonly refused: number;
    readonly expired: number;
  };
}

export const registrationMetrics = (registrations: WatchedRegistrations): MetricSource[] => [
  single("gauge", "weir_registrations", "Contacts of phones that are registered.", () => registrations.size),
  single("counter", "weir_registers_received_total", "REGISTERs received.", () => registrations.counters.received),
  single(
    "counter",
    "weir_registers_answered_total",
    "REGISTERs that a registrar answered, whatever it said.",
    () => registrations.counters.answered,
  ),
  single(
    "counter",
    "weir_registers_refused_total",
    "REGISTERs refused before routing: malformed, or above a cap.",
    () => registrations.counters.refused,
  ),
  single(
    "counter",
    "weir_registrations_expired_total",
    "Contacts that were not refreshed in time.",
    () => registrations.counters.expired,
  ),
];
