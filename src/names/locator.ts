import type { Clock, Ms, Timer } from "../clock.ts";
import { type Endpoint, inOrder, type Location } from "../location.ts";
import { type Located, locate, type Question, type Reach } from "./locate.ts";
import type { Resolver } from "./resolver.ts";

/** Where a name leads at this moment, or why it leads nowhere. */
export type Found = { readonly location: Location } | { readonly failure: string };

export interface LocatorParts {
  readonly resolver: Resolver;
  readonly reach: Reach;
  readonly clock: Clock;
  /** 0 inclusive to 1 exclusive. */
  readonly random: () => number;
  /** Seconds that the last good answer serves beyond its TTL while DNS is in trouble. */
  readonly maxStale: number;
}

/** A name is never asked for more often, whatever its TTL. */
const shortestPause: Ms = 1_000;
/** Nor more seldom. */
const longestPause: Ms = 3_600_000;
/** Until a name that leads nowhere is asked for again. */
const pauseWhenNowhere: Ms = 5_000;
/** Between questions while DNS is in trouble: doubled each time, up to the longest. */
const shortestRetry: Ms = 1_000;
const longestRetry: Ms = 30_000;
/** Names nobody has asked for so long, and nobody watches, are forgotten. */
const idleTime: Ms = 120_000;
/** Names kept beside the watched ones: they may come from the network. */
const maxIdle = 1_000;

/** Locates names, and keeps what it has found fresh: an answer is asked for anew before it expires, so that no call waits. */
export class Locator {
  readonly #parts: LocatorParts;
  readonly #entries = new Map<string, Entry>();

  constructor(parts: LocatorParts) {
    this.#parts = parts;
  }

  /** Tells where the name leads, when that is known and whenever it changes, until what is returned is called. */
  watch(question: Question, hear: (found: Found) => void): () => void {
    const entry = this.#entry(question);
    entry.hearers.add(hear);
    if (entry.found) hear(entry.found);
    return () => entry.hearers.delete(hear);
  }

  /** The endpoints of a name in the order of one request. Calls `then` once: at once where it is known. */
  find(
    question: Question,
    then: (found: { readonly endpoints: Endpoint[] } | { readonly failure: string }) => void,
  ): void {
    const tell = (found: Found): void =>
      then("failure" in found ? found : { endpoints: inOrder(found.location, this.#parts.random) });
    const entry = this.#entry(question);
    entry.usedAt = this.#parts.clock.now();
    if (entry.found) tell(entry.found);
    else entry.whenFound.push(tell);
  }

  /** Resolves when each name asked for so far has had its first answer, good or bad. */
  async settled(): Promise<void> {
    await Promise.all(
      Array.from(this.#entries.values(), (entry) =>
        entry.found ? undefined : new Promise<void>((resolve) => entry.whenFound.push(() => resolve())),
      ),
    );
  }

  stop(): void {
    for (const entry of this.#entries.values()) entry.stop();
    this.#entries.clear();
  }

  #entry(question: Question): Entry {
    const key = keyOf(question);
    const known = this.#entries.get(key);
    if (known) return known;
    this.#makeRoom();
    const entry = new Entry(question, this.#parts, () => this.#entries.delete(key));
    this.#entries.set(key, entry);
    entry.ask();
    return entry;
  }

  #makeRoom(): void {
    if (this.#entries.size < maxIdle) return;
    const idle = [...this.#entries].filter(([, entry]) => entry.hearers.size === 0 && entry.found);
    if (idle.length < maxIdle) return;
    for (const [key, entry] of idle.slice(0, maxIdle / 10)) {
      entry.stop();
      this.#entries.delete(key);
    }
  }
}

const keyOf = ({ host, port, protocol, secure = false }: Question): string =>
  `${host.toLowerCase()} ${port} ${secure ? "tls" : (protocol ?? "")}`;

/** One name: what was found last, and when it is asked for again. */
class Entry {
  readonly hearers = new Set<(found: Found) => void>();
  /** Told once. */
  readonly whenFound: ((found: Found) => void)[] = [];
  found: Found | undefined;
  usedAt: Ms;
  readonly #question: Question;
  readonly #parts: LocatorParts;
  readonly #forget: () => void;
  #good: { readonly location: Location; readonly until: Ms } | undefined;
  #troubles = 0;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(question: Question, parts: LocatorParts, forget: () => void) {
    this.#question = question;
    this.#parts = parts;
    this.#forget = forget;
    this.usedAt = parts.clock.now();
  }

  ask(): void {
    const { resolver, reach, clock } = this.#parts;
    const before = this.#good && clock.now() < this.#good.until ? this.#good.location : undefined;
    void locate(this.#question, resolver, reach, before).then((located) => this.#take(located));
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #take(located: Located): void {
    if (this.#stopped) return;
    const { clock, maxStale } = this.#parts;
    const now = clock.now();
    this.#troubles = located.kind === "trouble" ? this.#troubles + 1 : 0;
    if (located.kind === "located") {
      const { location, ttl, stale } = located;
      const until = stale && this.#good ? this.#good.until : now + (ttl + maxStale) * 1_000;
      this.#good = { location, until };
      this.#askAfter(ttl * 900);
      this.#tell({ location });
    } else if (located.kind === "trouble") {
      this.#askAfter(Math.min(longestRetry, shortestRetry * 2 ** (this.#troubles - 1)));
      if (this.#good === undefined || now >= this.#good.until) this.#tell({ failure: located.detail });
    } else {
      this.#good = undefined;
      this.#askAfter(pauseWhenNowhere);
      this.#tell({ failure: located.detail });
    }
  }

  #askAfter(pause: Ms): void {
    const { clock } = this.#parts;
    this.#timer = clock.after(Math.min(longestPause, Math.max(shortestPause, pause)), () => {
      if (this.hearers.size > 0 || clock.now() - this.usedAt < idleTime) this.ask();
      else this.#forget();
    });
  }

  #tell(found: Found): void {
    const changed = JSON.stringify(found) !== JSON.stringify(this.found);
    this.found = found;
    for (const tell of this.whenFound.splice(0)) tell(found);
    if (changed) for (const hear of [...this.hearers]) hear(found);
  }
}
