import type { Clock, Ms, Timer } from "../../clock.ts";
import { type AnyRow, type AnyRules, ignored } from "./rules.ts";
import { type LifeTimer, lifeOf, type RepeatTimer, type TimerValues } from "./timers.ts";

/** What every machine of one transaction layer shares. */
export interface MachineDeps {
  readonly clock: Clock;
  readonly timers: TimerValues;
}

/**
 * Drives one transaction by its rules: looks the cell up, moves on, sets the two timers and has the actions done. When it
 * terminates it first lets go of everything (timers, places in maps, listeners), then does the last actions.
 */
export abstract class Machine<State extends string, Event extends string, Action extends string> {
  readonly #rules: AnyRules<State, Event, Action>;
  readonly #deps: MachineDeps;
  readonly #reliable: boolean;
  readonly #repeatTimer: RepeatTimer;
  #state: State;
  #life: Timer | undefined = undefined;
  #repeat: Timer | undefined = undefined;
  #pause: Ms = 0;

  /** `reliable`: over TCP or TLS nothing is sent twice and no state lingers for stragglers. */
  constructor(rules: AnyRules<State, Event, Action>, repeatTimer: RepeatTimer, deps: MachineDeps, reliable: boolean) {
    this.#rules = rules;
    this.#repeatTimer = repeatTimer;
    this.#deps = deps;
    this.#reliable = reliable;
    this.#state = rules.begin.next;
  }

  get state(): State {
    return this.#state;
  }

  /** Ends it where it stands: nothing is sent or reported any more. */
  stop(): void {
    if (this.#state === "terminated") return;
    this.#state = "terminated" as State;
    this.#end();
  }

  protected begin(): void {
    this.#take(this.#rules.begin);
  }

  /** False when the state ignores the event. */
  protected dispatch(event: Event): boolean {
    const cell = this.#rules.table[this.#state]?.[event];
    if (cell === undefined || cell === ignored) return false;
    this.#take(cell);
    return true;
  }

  protected abstract act(action: Action): void;

  /** The machine is over: forget it, listen to nothing any more. */
  protected abstract terminated(): void;

  #take(row: AnyRow<State, Action>): void {
    this.#state = row.next;
    if (row.repeat !== undefined) this.#setRepeat(row.repeat);
    if (row.life !== undefined) this.#setLife(row.life);
    if (row.next === "terminated") this.#end();
    for (const action of row.actions) this.act(action);
  }

  #end(): void {
    this.#life?.cancel();
    this.#repeat?.cancel();
    this.terminated();
  }

  #setLife(timer: LifeTimer | "none"): void {
    this.#life?.cancel();
    this.#life = undefined;
    if (timer === "none") return;
    const event = `timer-${timer}` as Event;
    const life = lifeOf(timer, this.#deps.timers, this.#reliable);
    if (life === 0) this.dispatch(event);
    else this.#life = this.#deps.clock.after(life, () => this.dispatch(event));
  }

  #setRepeat(order: NonNullable<AnyRow<State, Action>["repeat"]>): void {
    this.#repeat?.cancel();
    this.#repeat = undefined;
    if (order === "stop" || this.#reliable) return;
    this.#pause = this.#nextPause(order);
    const event = `timer-${this.#repeatTimer}` as Event;
    this.#repeat = this.#deps.clock.after(this.#pause, () => this.dispatch(event));
  }

  #nextPause(order: "start" | "double" | "double-to-T2" | "at-T2"): Ms {
    const { t1, t2 } = this.#deps.timers;
    switch (order) {
      case "start":
        return t1;
      case "double":
        return this.#pause * 2;
      case "double-to-T2":
        return Math.min(this.#pause * 2, t2);
      case "at-T2":
        return t2;
    }
  }
}
