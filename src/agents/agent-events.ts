import { EventEmitter } from "node:events";
import { WeirError } from "../errors.ts";
import type { Exceeded } from "./limit.ts";
import type { StateChange } from "./state.ts";

export interface AgentEventMap {
  /** The letter of an agent changed: exactly once for each change. */
  "state-changed": [change: StateChange];
  /** A request was refused by this limit; once for each limit that left no room. */
  "limit-exceeded": [hostname: string, exceeded: Exceeded];
  /** Something that must not happen: a lease released twice, a count below zero, a listener that threw. */
  defect: [error: WeirError];
}

/** What happens to agents. A listener that throws disturbs neither the agent nor the other listeners. */
export class AgentEvents extends EventEmitter<AgentEventMap> {
  #lostDefects = 0;

  /** Defects that a listener of `defect` threw on, so that nobody may have heard of them. */
  get lostDefects(): number {
    return this.#lostDefects;
  }

  /** Calls every listener in turn; one that throws becomes a `defect`. */
  announce<E extends keyof AgentEventMap>(event: E, ...payload: AgentEventMap[E]): void {
    if (this.listenerCount(event) === 0) return;
    // Raw: a listener added by `once` removes itself when it is called.
    for (const listener of this.rawListeners(event)) {
      try {
        Reflect.apply(listener, this, payload);
      } catch (cause) {
        if (event === "defect") this.#lostDefects++;
        else this.announce("defect", new WeirError("WEIR_LISTENER_THREW", { event }, { cause }));
      }
    }
  }
}
