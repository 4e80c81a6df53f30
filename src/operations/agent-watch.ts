import type { AgentEvents } from "../agents/agent-events.ts";
import type { StateChange, StateLetter } from "../agents/state.ts";
import type { ErrorCode, WeirError } from "../errors.ts";
import type { MetricSource } from "./metrics.ts";

export interface WatchLog {
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}

/** What the log says when an agent comes to a state (SEMANTICS.md section 2). */
const arrivals = {
  I: "agent in service",
  O: "agent out of service",
  C: "agent at a limit",
  S: "agent on standby",
  D: "agent disabled",
} as const satisfies Record<StateLetter, string>;

/** Codes of what agents announce as defects. */
const defectCodes = [
  "WEIR_LEASE_RELEASED_TWICE",
  "WEIR_COUNTER_NEGATIVE",
  "WEIR_LISTENER_THREW",
] as const satisfies readonly ErrorCode[];

export const stateLetters = Object.keys(arrivals) as readonly StateLetter[];

/** Hears what happens to agents: one log line and one count for each change of state, and for each defect. */
export class AgentWatch {
  readonly #log: WatchLog;
  readonly #transitions = new Map<string, number>();
  readonly #defects = new Map<ErrorCode, number>(defectCodes.map((code) => [code, 0]));

  constructor(events: AgentEvents, log: WatchLog) {
    this.#log = log;
    events.on("state-changed", (change) => this.#changed(change));
    events.on("defect", (error) => this.defect(error));
  }

  /** How often the agent changed to this state. */
  transitions(hostname: string, state: StateLetter): number {
    return this.#transitions.get(`${state} ${hostname}`) ?? 0;
  }

  /** Something that must not happen did. */
  defect(error: WeirError): void {
    this.#defects.set(error.code, (this.#defects.get(error.code) ?? 0) + 1);
    this.#log.error({ err: error, code: error.code, ...error.detail }, "defect");
  }

  /** A series for each code from the start on, so that the first defect is a rise and not a new series. */
  get metric(): MetricSource {
    return {
      kind: "counter",
      name: "weir_defects_total",
      help: "Things that must not happen and did, by the code of docs/errors.md.",
      labels: ["code"],
      samples: () => Array.from(this.#defects, ([code, value]) => ({ labels: { code }, value })),
    };
  }

  #changed(change: StateChange): void {
    const { hostname, to, at: _, ...why } = change;
    const key = `${to} ${hostname}`;
    this.#transitions.set(key, (this.#transitions.get(key) ?? 0) + 1);
    const line = { agent: hostname, state: to, ...why };
    if (to === "O") this.#log.warn(line, arrivals[to]);
    else this.#log.info(line, arrivals[to]);
  }
}
