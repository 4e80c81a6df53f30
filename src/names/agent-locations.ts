import type { AgentParams } from "../agents/params.ts";
import type { Location } from "../location.ts";
import type { Question } from "./locate.ts";
import type { Locator } from "./locator.ts";

/** The agents, as far as their places are concerned. */
export interface LocatedAgents {
  [Symbol.iterator](): Iterator<{ readonly hostname: string; readonly params: AgentParams }>;
  locate(hostname: string, found: Location | { readonly failure: string }): boolean;
}

interface Watched {
  readonly key: string;
  readonly leave: () => void;
}

/** Tells the agents that are known by name alone where their names lead, as long as they are there. */
export class AgentLocations {
  readonly #agents: LocatedAgents;
  readonly #locator: Locator;
  readonly #changed: (realm: string) => void;
  readonly #watched = new Map<string, Watched>();

  /** `changed` is told the realm of an agent that has other addresses than before. */
  constructor(agents: LocatedAgents, locator: Locator, changed: (realm: string) => void) {
    this.#agents = agents;
    this.#locator = locator;
    this.#changed = changed;
  }

  /** Watches the names of the agents there are now. Resolves when each has had its first answer, good or bad. */
  follow(): Promise<void> {
    const here = new Set<string>();
    for (const { hostname, params } of this.#agents) {
      if (params["ip-address"] !== "") continue;
      here.add(hostname);
      this.#watch(hostname, questionOf(params), params["realm-id"]);
    }
    for (const [hostname, { leave }] of this.#watched) {
      if (here.has(hostname)) continue;
      leave();
      this.#watched.delete(hostname);
    }
    return this.#locator.settled();
  }

  #watch(hostname: string, question: Question, realm: string): void {
    const key = JSON.stringify(question);
    const known = this.#watched.get(hostname);
    if (known?.key === key) return;
    known?.leave();
    const leave = this.#locator.watch(question, (found) => {
      const moved = this.#agents.locate(hostname, "failure" in found ? found : found.location);
      if (moved) this.#changed(realm);
    });
    this.#watched.set(hostname, { key, leave });
  }
}

function questionOf(params: AgentParams): Question {
  const transport = params["transport-method"].toLowerCase();
  const protocol = transport === "tcp" || transport === "tls" ? transport : "udp";
  return { host: params.hostname, port: params.port, protocol };
}
