import { hash } from "node:crypto";
import type { Ms } from "../clock.ts";
import { ownText } from "../own-text.ts";
import type { Source } from "../signalling/port.ts";

/** One Contact that a phone has registered through us, until it expires. */
export interface Binding {
  /** The user part of our own Contact in its place at the registrar. */
  readonly user: string;
  /** `user@host`. */
  readonly aor: string;
  /** The phone's own Contact URI. */
  readonly contact: string;
  /** Where the REGISTER came from, which is where requests to the phone go. */
  readonly source: Source;
  /** `host:port` of the listener that it came in at. */
  readonly receivedOn: string;
  /** Proxies that requests to the phone pass, as a Route field; "" for none. */
  readonly path: string;
  /** The agent that holds the registration. */
  readonly registrar: string;
  /** Monotonic. */
  readonly expiresAt: Ms;
}

/**
 * The user part that stands for a Contact. It follows from the two alone, so that the registrar's copy stays good when
 * we are started anew, and tells nothing of them.
 */
export function userFor(aor: string, contact: string): string {
  return `r-${hash("sha256", `${aor}\n${contact}`).slice(0, 20)}`;
}

/** Whether a user part is one that stands for a Contact. */
export const isOurs = (user: string): boolean => /^r-[\da-f]{20}$/.test(user);

/** A binding in the store, where a refresh moves its end and makes nothing anew. */
type Kept = Binding & { expiresAt: Ms };

/** Whether a REGISTER came the way that the one before it did, to the same registrar. */
function isRefresh(known: Binding, { source, receivedOn, path, registrar }: Binding): boolean {
  const { protocol, address, port } = known.source;
  return (
    port === source.port &&
    address === source.address &&
    protocol === source.protocol &&
    known.receivedOn === receivedOn &&
    known.path === path &&
    known.registrar === registrar
  );
}

/**
 * The same, holding no part of the messages that it was read from: a text cut out of another keeps all of that in memory,
 * and a registration outlives its messages by an hour.
 */
function apart({ source, receivedOn, path, registrar, expiresAt, ...own }: Binding, known: Binding | undefined): Kept {
  const { protocol, address, port } = source;
  // The user part follows from these.
  const { user, aor, contact } = known ?? own;
  const keep = known ? (text: string): string => text : ownText;
  return {
    user: keep(user),
    aor: keep(aor),
    contact: keep(contact),
    source: { protocol: ownText(protocol), address: ownText(address), port },
    receivedOn: ownText(receivedOn),
    path: ownText(path),
    registrar,
    expiresAt,
  };
}

/** Every binding, by its user part and by address of record. Expired ones are not shown, and are swept out now and then. */
export class Bindings {
  readonly #byUser = new Map<string, Kept>();
  readonly #byAor = new Map<string, readonly Binding[]>();

  get size(): number {
    return this.#byUser.size;
  }

  [Symbol.iterator](): Iterator<Binding> {
    return this.#byUser.values();
  }

  get(user: string, now: Ms): Binding | undefined {
    const binding = this.#byUser.get(user);
    return binding && binding.expiresAt > now ? binding : undefined;
  }

  of(aor: string, now: Ms): readonly Binding[] {
    return (this.#byAor.get(aor) ?? []).filter(({ expiresAt }) => expiresAt > now);
  }

  put(given: Binding): void {
    const known = this.#byUser.get(given.user);
    if (known && isRefresh(known, given)) {
      known.expiresAt = given.expiresAt;
      return;
    }
    const binding = apart(given, known);
    const { user, aor } = binding;
    this.#byUser.set(user, binding);
    const all = this.#byAor.get(aor) ?? [];
    this.#byAor.set(aor, known ? all.map((each) => (each === known ? binding : each)) : [...all, binding]);
  }

  delete(user: string): void {
    const binding = this.#byUser.get(user);
    if (!binding) return;
    this.#byUser.delete(user);
    const left = this.#byAor.get(binding.aor)?.filter((each) => each.user !== user) ?? [];
    if (left.length > 0) this.#byAor.set(binding.aor, left);
    else this.#byAor.delete(binding.aor);
  }

  /** Forgets what has expired. How many there were. */
  sweep(now: Ms): number {
    let swept = 0;
    for (const { user, expiresAt } of this.#byUser.values()) {
      if (expiresAt > now) continue;
      this.delete(user);
      swept++;
    }
    return swept;
  }
}
