import type { SessionAgent } from "../agents/session-agent.ts";
import type { Ms } from "../clock.ts";
import { type SurrogateParts, SurrogateRegistration, type SurrogateSnapshot } from "./surrogate.ts";

/** Our registrations with every agent that needs one. */
export class Surrogates {
  readonly #all: readonly SurrogateRegistration[];

  constructor(agents: Iterable<SessionAgent>, parts: SurrogateParts) {
    this.#all = Array.from(agents, (agent) => {
      const params = agent.params["surrogate-registration"];
      return params && new SurrogateRegistration(agent, params, parts);
    }).filter((each) => each !== undefined);
    parts.signalling.whenLost(() => {
      for (const each of this.#all) each.lost();
    });
  }

  start(): void {
    for (const each of this.#all) each.start();
  }

  /** True when registrars are being told, which takes a moment. */
  stop(): boolean {
    return this.#all.filter((each) => each.stop()).length > 0;
  }

  list(wallMinusMonotonic: Ms): SurrogateSnapshot[] {
    return this.#all.map((each) => each.snapshot(wallMinusMonotonic));
  }
}
