import type { AppSession } from "./app-session.ts";

/** Which applications are connected, and whose turn it is for each method. */
export class AppRegistry {
  readonly #sessions = new Set<AppSession>();
  readonly #turns = new Map<string, number>();

  get size(): number {
    return this.#sessions.size;
  }

  add(session: AppSession): void {
    this.#sessions.add(session);
  }

  delete(session: AppSession): void {
    this.#sessions.delete(session);
  }

  /** The next application in turn that takes `method`, undefined when none does. */
  next(method: string): AppSession | undefined {
    const verb = method.toLowerCase();
    const candidates: AppSession[] = [];
    for (const session of this.#sessions) if (session.takes(verb)) candidates.push(session);
    if (candidates.length <= 1) return candidates[0];
    // Methods are the peers' choice, so only those some application asked for get a place in the map.
    const turn = (this.#turns.get(verb) ?? 0) % candidates.length;
    this.#turns.set(verb, turn + 1);
    return candidates[turn];
  }
}
