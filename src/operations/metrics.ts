import { setImmediate as turn } from "node:timers/promises";
import { collectDefaultMetrics, Registry } from "prom-client";

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

/** Written in one go; they take some 2 ms. */
const samplesATurn = 500;

/** Everything that GET /metrics shows. */
export class Metrics {
  /** Of the metrics of Node.js itself alone: it would keep a record for each of our series, of which thousands of agents have hundreds of thousands. */
  readonly #registry = new Registry();
  readonly #late: () => readonly MetricSource[];
  readonly #sources = new Map<string, MetricSource>();

  /** `late`: sources that may become known only while the program runs; each is taken once, by its name. */
  constructor(sources: readonly MetricSource[], late: () => readonly MetricSource[] = () => []) {
    collectDefaultMetrics({ register: this.#registry });
    this.#late = late;
    this.#take(sources);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Every metric that has been taken, beside those of Node.js itself. */
  get sources(): readonly MetricSource[] {
    return [...this.#sources.values()];
  }

  /** A few samples a turn of the event loop: with thousands of agents, calls must not wait for the whole page. */
  async text(): Promise<string> {
    this.#take(this.#late());
    const scrape = {};
    const page = [await this.#registry.metrics()];
    let written = 0;
    for (const { name, kind, help, samples } of this.sources) {
      page.push(`\n# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`);
      for (const { labels, value } of samples(scrape)) {
        page.push(`${name}${labelsText(labels)} ${value}\n`);
        if (++written % samplesATurn === 0) await turn();
      }
    }
    return page.join("");
  }

  #take(sources: readonly MetricSource[]): void {
    for (const source of sources) if (!this.#sources.has(source.name)) this.#sources.set(source.name, source);
  }
}

function labelsText(labels: Sample["labels"]): string {
  let text = "";
  for (const name in labels) text += `${text === "" ? "{" : ","}${name}="${escaped(labels[name] ?? "")}"`;
  return text === "" ? "" : `${text}}`;
}

/** As the text format of Prometheus wants values of labels. */
const escaped = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
