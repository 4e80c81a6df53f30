import type { AgentSnapshot } from "../agents/snapshot.ts";
import { type AgentWatch, stateLetters } from "./agent-watch.ts";
import type { MetricSource, Sample } from "./metrics.ts";

/** What the metrics need of an agent. */
export interface WatchedAgent {
  readonly params: Readonly<Record<string, unknown>>;
  snapshot(): AgentSnapshot;
}

const directions = ["inbound", "outbound"] as const;
const scopes = ["inbound", "outbound", "total"] as const;
const windows = ["burst", "sustain"] as const;
const limitName = /^max-.*-?(sessions|rate)$|^min-asr$/;

interface View {
  readonly labels: { readonly agent: string };
  readonly agent: AgentSnapshot;
  /** Limits that are on, so that their series are there before the first refusal. */
  readonly limits: readonly string[];
}

/** Each agent's series, there from the start on. */
export function agentMetrics(agents: Iterable<WatchedAgent>, watch: AgentWatch): MetricSource[] {
  const views = oncePerScrape(() => kept(agents, viewOf));
  const metric = (
    kind: MetricSource["kind"],
    name: string,
    help: string,
    labels: readonly string[],
    read: (view: View) => Iterable<[more: Record<string, string>, value: number]>,
  ): MetricSource => ({
    kind,
    name: `weir_agent_${name}`,
    help,
    labels: ["agent", ...labels],
    *samples(scrape): Iterable<Sample> {
      for (const view of views(scrape)) {
        for (const [more, value] of read(view)) yield { labels: { ...view.labels, ...more }, value };
      }
    },
  });

  return [
    metric(
      "gauge",
      "state",
      "1 for the letter of the state the agent shows, 0 for the others.",
      ["state"],
      ({ agent }) => stateLetters.map((state) => [{ state }, state === agent.state.letter ? 1 : 0]),
    ),
    metric("gauge", "sessions", "Sessions that are up or being set up.", ["direction"], ({ agent }) =>
      directions.map((direction) => [{ direction }, agent.sessions[direction].active]),
    ),
    metric("gauge", "sessions_maximum", "Limit on sessions; 0 = none.", ["scope"], ({ agent }) =>
      scopes.map((scope) => [{ scope }, agent.sessions[scope].maximum]),
    ),
    metric("gauge", "session_rate", "Session attempts per second in a window.", ["window", "scope"], ({ agent }) =>
      windows.flatMap((window) =>
        scopes.map((scope): [Record<string, string>, number] => [{ window, scope }, agent.rates[window][scope].value]),
      ),
    ),
    metric("counter", "session_attempts_total", "Sessions admitted.", ["direction"], ({ agent }) =>
      directions.map((direction) => [{ direction }, agent.totals[direction]]),
    ),
    metric("counter", "sessions_answered_total", "Sessions answered with a 2xx.", [], ({ agent }) => [
      [{}, agent.totals.answered],
    ]),
    metric("counter", "limit_exceeded_total", "Requests refused by a limit.", ["limit"], ({ agent, limits }) => {
      const counts: Record<string, number> = {
        ...Object.fromEntries(limits.map((limit) => [limit, 0])),
        ...agent.exceeded,
      };
      return Object.entries(counts).map(([limit, count]) => [{ limit }, count]);
    }),
    metric(
      "gauge",
      "answer_seizure_ratio",
      "Answered among attempted in the sustain window, 0 to 1.",
      [],
      ({ agent }) => (agent.asr.ratio === null ? [] : [[{}, agent.asr.ratio / 100]]),
    ),
    metric("gauge", "ping_round_trip_seconds", "Of the last ping that was answered.", [], ({ agent }) =>
      agent.lastPing?.roundTripMs === undefined ? [] : [[{}, agent.lastPing.roundTripMs / 1_000]],
    ),
    metric(
      "gauge",
      "latency_seconds",
      "To the first response, over the last one to two minutes.",
      ["of"],
      ({ agent: { latency } }) =>
        latency
          ? [
              [{ of: "average" }, latency.average / 1_000],
              [{ of: "maximum" }, latency.maximum / 1_000],
            ]
          : [],
    ),
    metric(
      "counter",
      "transitions_total",
      "Changes of the state shown, by the letter it changed to.",
      ["state"],
      ({ agent }) => stateLetters.map((state) => [{ state }, watch.transitions(agent.hostname, state)]),
    ),
  ];
}

function viewOf(watched: WatchedAgent): View {
  const agent = watched.snapshot();
  const limits = Object.entries(watched.params).filter(([name, value]) => limitName.test(name) && Number(value) > 0);
  return { labels: { agent: agent.hostname }, agent, limits: limits.map(([name]) => name) };
}

/** What `of` makes of each item: made when it is first come to, and kept for those who come later. */
function kept<T, U>(items: Iterable<T>, of: (item: T) => U): Iterable<U> {
  const rest = items[Symbol.iterator]();
  const made: U[] = [];
  return {
    *[Symbol.iterator]() {
      yield* made;
      for (let next = rest.next(); !next.done; next = rest.next()) {
        const item = of(next.value);
        made.push(item);
        yield item;
      }
    },
  };
}

/** What all metrics of a scrape look at. */
function oncePerScrape<T>(read: () => T): (scrape: object) => T {
  const held = new WeakMap<object, T>();
  return (scrape) => {
    const value = held.get(scrape) ?? read();
    held.set(scrape, value);
    return value;
  };
}
