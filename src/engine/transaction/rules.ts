import type { LifeTimer } from "./timers.ts";

/** What one event does in one state: data, carried out by `Machine`. */
export interface Row<State extends string, Action extends string, Life extends LifeTimer> {
  readonly next: State;
  /** The life timer to start in place of the running one; "none" stops it; absent leaves it running. */
  readonly life?: Life | "none";
  /** The repeat timer: start at T1, double without end, double up to T2, go on every T2, stop; absent leaves it as it is. */
  readonly repeat?: "start" | "double" | "double-to-T2" | "at-T2" | "stop";
  /** In order, after the timers are set. */
  readonly actions: readonly Action[];
}

/** The cell of an event that changes nothing in a state, or cannot come there. */
export const ignored = "ignored";

/** A row of the machine with these events: it starts no timer whose event they lack. */
export type RowOf<State extends string, Event extends string, Action extends string> = Row<
  State,
  Action,
  Event extends `timer-${infer Letter extends LifeTimer}` ? Letter : never
>;

/**
 * A state machine: every state answers every event, or says that it is ignored. "terminated" alone has no row: a
 * terminated machine has let go of all that could bring it an event.
 */
export interface Rules<State extends string, Event extends string, Action extends string> {
  readonly begin: RowOf<State, Event, Action>;
  readonly table: Readonly<
    Record<Exclude<State, "terminated">, Readonly<Record<Event, RowOf<State, Event, Action> | typeof ignored>>>
  >;
}

/** Any rules whose states, events and actions are among these: what one driver of several machines takes. */
export interface AnyRules<State extends string, Event extends string, Action extends string> {
  readonly begin: AnyRow<State, Action>;
  readonly table: Readonly<Record<string, Readonly<Partial<Record<Event, AnyRow<State, Action> | typeof ignored>>>>>;
}

export type AnyRow<State extends string, Action extends string> = Row<State, Action, LifeTimer>;
