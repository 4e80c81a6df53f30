import type { Exceeded, SessionAgent } from "../agents/session-agent.ts";
import type { StateLetter, StateReason } from "../agents/state.ts";
import type { Ms } from "../clock.ts";
import type { Group } from "./group.ts";
import type { Memory } from "./strategies.ts";

/** An agent that was considered for a request and passed over, and why: as it was at that moment. Plain data. */
export interface PassedOver {
  readonly agent: string;
  /** Attempts that were made before. */
  readonly after: number;
  readonly state: StateLetter;
  /** Why the agent shows that state; `translation` when its own translation leaves nothing of the called number. */
  readonly reason: StateReason | "translation";
  /** Monotonic, as all moments here. */
  readonly since: Ms;
  readonly resumesAt: Ms | undefined;
  /** The limits without room; empty where the state itself refuses. */
  readonly exceeded: readonly Exceeded[];
}

/** The part of a route's search that members of a group are chosen by. */
export interface Search {
  /** True when the agent may be chosen now: not tried yet and, by its own word, in service with room. */
  eligible(agent: SessionAgent): boolean;
  /** True when the search has left the group for good. */
  left(group: Group): boolean;
  memoryOf(group: Group): Memory;
}
