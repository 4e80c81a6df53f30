import { setImmediate as turn } from "node:timers/promises";
import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";

/** One number of a metric and the labels it stands under. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A metric that is read from the program's own plain numbers when it is asked for, and costs nothing until then. */
export interface MetricSource {
  /** With the unit, and `_total` for a counter, as Prometheus names them. */
  readonly name: string;
  readonly kind: "counter" | "gauge";
  readonly help: string;
  readonly labels?: readonly string[];
  /** `scrape` is the same object for all metrics of one scrape, for sharing what they have in common. */
  samples(scrape: object): Iterable<Sample>;
}

/** A metric without labels. */
export const single = (kind: MetricSource["kind"], name: string, help: string, read: () => number): MetricSource => ({
  name,
  kind,
  help,
  samples: () => [{ labels: {}, value: read() }],
});

/** Everything that GET /metrics shows. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #late: () => readonly MetricSource[];
  readonly #sources: MetricSource[] = [];
  #scrape: object = {};

  /** `late`: sources that may become known only while the program runs; each is taken once, by its name. */
  constructor(sources: readonly MetricSource[], late: () => readonly MetricSource[] = () => []) {
    collectDefaultMetrics({ register: this.#registry });
    this.#late = late;
    for (const source of sources) this.#add(source);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Every metric that has been taken, beside those of Node.js itself. */
  get sources(): readonly MetricSource[] {
    return this.#sources;
  }

  /** One metric a turn of the event loop: with thousands of agents, calls must not wait for the whole page. */
  async text(): Promise<string> {
    for (const source of this.#late()) if (!this.#registry.getSingleMetric(source.name)) this.#add(source);
    const scrape = {};
    const page: string[] = [];
    for (const { name } of this.#registry.getMetricsAsArray()) {
      this.#scrape = scrape;
      page.push(await this.#registry.getSingleMetricAsString(name));
      await turn();
    }
    return `${page.join("\n\n")}\n`;
  }

  #add(source: MetricSource): void {
    this.#sources.push(source);
    const { kind, name, help, labels = [], samples } = source;
    const common = { name, help, labelNames: [...labels], registers: [this.#registry] };
    if (kind === "counter") {
      const counter: Counter = new Counter({
        ...common,
        collect: () => {
          counter.reset();
          for (const sample of samples(this.#scrape)) counter.inc(sample.labels, sample.value);
        },
      });
    } else {
      const gauge: Gauge = new Gauge({
        ...common,
        collect: () => {
          gauge.reset();
          for (const sample of samples(this.#scrape)) gauge.set(sample.labels, sample.value);
        },
      });
    }
  }
}
