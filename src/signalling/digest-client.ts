import { randomBytes } from "node:crypto";
import type { Credentials } from "../secret.ts";
import { answerable, type Challenge, digestCredentials, readChallenges } from "./digest.ts";
import type { Headers, IncomingResponse } from "./port.ts";

/** Who challenges: the peer itself, or a proxy before it. */
const fields = {
  401: { challenge: "www-authenticate", credentials: "authorization" },
  407: { challenge: "proxy-authenticate", credentials: "proxy-authorization" },
} as const;

type Status = keyof typeof fields;

const isChallenge = (status: number): status is Status => status === 401 || status === 407;

interface Session {
  readonly challenge: Challenge;
  /** How often its nonce was used. */
  count: number;
}

/** What is sent with one request, and what it was answered with so far. */
export interface Answered {
  /** The nonces of the credentials that it bears, by who asked for them. */
  readonly nonces: Partial<Record<Status, string>>;
  /** Those made for a challenge to this very request: a second one for the same means that they are wrong. */
  readonly fresh: Partial<Record<Status, boolean>>;
}

export interface Signed {
  readonly method: string;
  readonly uri: string;
  readonly body: string;
}

/** Answers the challenges of one agent. Its last nonces serve for later requests too, so that not each is challenged. */
export class DigestClient {
  readonly #credentials: Credentials;
  readonly #sessions: Partial<Record<Status, Session>> = {};

  constructor(credentials: Credentials) {
    this.#credentials = credentials;
  }

  /** Credentials for a request that was not challenged yet; none before the first challenge. */
  foresee(request: Signed): { readonly headers: Headers; readonly answered: Answered } {
    const nonces: Answered["nonces"] = {};
    for (const status of [401, 407] as const) {
      const session = this.#sessions[status];
      // Without a count, the same credentials would go out again and again: a proof of nothing (RFC 7616 section 5.4).
      if (session?.challenge.qop) nonces[status] = session.challenge.nonce;
    }
    return { headers: this.#headers(request, nonces), answered: { nonces, fresh: {} } };
  }

  /** The same for the request that was just challenged; undefined where credentials would not help. */
  answer(
    { status, headers }: IncomingResponse,
    request: Signed,
    before: Answered,
  ): { readonly headers: Headers; readonly answered: Answered } | undefined {
    if (!isChallenge(status)) return undefined;
    const challenge = answerable(readChallenges(headers[fields[status].challenge] ?? ""), this.#credentials);
    if (!challenge) return undefined;
    const refused = before.nonces[status] === challenge.nonce || (before.fresh[status] === true && !challenge.stale);
    if (refused) {
      delete this.#sessions[status];
      return undefined;
    }
    const known = this.#sessions[status];
    // A nonce that is still good goes on counting.
    const count = known?.challenge.nonce === challenge.nonce ? known.count : 0;
    this.#sessions[status] = { challenge, count };
    const nonces = { ...before.nonces, [status]: challenge.nonce };
    return {
      headers: this.#headers(request, nonces),
      answered: { nonces, fresh: { ...before.fresh, [status]: true } },
    };
  }

  #headers(request: Signed, nonces: Answered["nonces"]): Headers {
    const headers: Record<string, string> = {};
    for (const status of [401, 407] as const) {
      const session = this.#sessions[status];
      if (nonces[status] === undefined || !session) continue;
      session.count++;
      const cnonce = randomBytes(8).toString("hex");
      const signed = { ...request, count: session.count, cnonce };
      headers[fields[status].credentials] = digestCredentials(session.challenge, this.#credentials, signed);
    }
    return headers;
  }
}
