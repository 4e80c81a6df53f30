import type { LocalResponseMap, LocalResponseName } from "../config/local-responses.ts";
import type { Reply } from "../signalling/port.ts";
import { reasonPhrase } from "../signalling/reason-phrases.ts";

export interface LocalResponse {
  readonly status: number;
  readonly reason: string;
  readonly retryAfter?: true;
}

const unavailable = { status: 503, reason: "Service Unavailable" } as const;
const unavailableForNow = { ...unavailable, retryAfter: true } as const;

/** What a caller is told by Weir itself, by the names of SEMANTICS.md section 7, and by ours where that page has none. */
export const localResponses = {
  "no-route": { status: 404, reason: "No Routes Found" },
  "translation-failed": { status: 484, reason: "Address Incomplete" },
  "next-hop-sa-oos": unavailable,
  "next-hop-sa-exc-constraints": unavailableForNow,
  "recv-sa-exc-constraints": unavailableForNow,
  "unknown-source": { status: 403, reason: "Forbidden" },
  /** Told by the engine, as are unknown sources that lists keep away. */
  "source-rate": unavailableForNow,
  "too-many-hops": { status: 483, reason: "Too Many Hops" },
  loop: { status: 482, reason: "Loop Detected" },
  "cpu-overload": unavailableForNow,
  draining: unavailableForNow,
  /** The last attempt was never answered. */
  "no-answer": { status: 408, reason: "Request Timeout" },
  /** The last attempt could not be sent. */
  unreachable: unavailable,
  /** The agent challenges us, and our credentials do not satisfy it. */
  credentials: unavailable,
  "bad-request": { status: 400, reason: "Bad Request" },
  "no-dialog": { status: 481, reason: "Call/Transaction Does Not Exist" },
  "request-pending": { status: 491, reason: "Request Pending" },
  /** A second re-INVITE of the same side before the first has ended (RFC 3261 section 14.2). */
  overlapping: { status: 500, reason: "Server Internal Error", retryAfter: true },
  terminated: { status: 487, reason: "Request Terminated" },
  /** It has registered no more, or its connection has closed, or it does not answer. */
  "phone-unreachable": { status: 480, reason: "Temporarily Unavailable" },
  /** A Path that is not believed, where `Require` insists on it. */
  "bad-extension": { status: 420, reason: "Bad Extension" },
  /** More Contacts for one address of record than one may have. */
  "too-many-contacts": { status: 403, reason: "Too Many Contacts" },
  /** More registrations than we keep. */
  "too-many-registrations": unavailableForNow,
  /** More subscriptions than we keep. */
  "too-many-subscriptions": unavailableForNow,
  "method-not-allowed": { status: 405, reason: "Method Not Allowed" },
  "not-implemented": { status: 501, reason: "Not Implemented" },
  ok: { status: 200, reason: "OK" },
} as const satisfies Record<LocalResponseName, LocalResponse> & Record<string, LocalResponse>;

export type LocalCause = keyof typeof localResponses;

/** Seconds; both ends included. */
export interface RetryAfterRange {
  readonly min: number;
  readonly max: number;
}

/** A response, and where it is Weir's own the name of what it stands for. */
export type LocalReply = Reply & { readonly cause?: LocalCause };

/** Makes Weir's own responses. Retry-After values are spread, so that callers do not all return at once. */
export class LocalReplies {
  readonly #retryAfter: RetryAfterRange;
  readonly #random: () => number;
  readonly #responses: Readonly<Record<LocalCause, MappedLocalResponse>>;

  constructor(retryAfter: RetryAfterRange, random: () => number, map: LocalResponseMap = {}) {
    this.#retryAfter = retryAfter;
    this.#random = random;
    this.#responses = { ...localResponses, ...mapped(map) };
  }

  for(cause: LocalCause, headers: Readonly<Record<string, string>> = {}): LocalReply {
    const { status, reason, retryAfter, q850Cause } = this.#responses[cause];
    const all = { ...headers };
    if (retryAfter) all["retry-after"] = this.#spread();
    if (q850Cause !== undefined) all.reason = `Q.850;cause=${q850Cause}`;
    return { status, reason, headers: all, body: "", cause };
  }

  #spread(): string {
    const { min, max } = this.#retryAfter;
    return String(min + Math.floor(this.#random() * (max - min + 1)));
  }
}

interface MappedLocalResponse extends LocalResponse {
  readonly q850Cause?: number;
}

function mapped(map: LocalResponseMap): Partial<Record<LocalCause, MappedLocalResponse>> {
  const responses: Partial<Record<LocalCause, MappedLocalResponse>> = {};
  for (const [cause, to] of Object.entries(map) as [LocalResponseName, NonNullable<LocalResponseMap["loop"]>][]) {
    const own = localResponses[cause];
    // Silence is kept by the engine; where that cannot, this is the answer.
    const status = to.status || own.status;
    const reason = to.reason ?? (status === own.status ? own.reason : reasonPhrase(status));
    const q850Cause = to["q850-cause"];
    responses[cause] = { ...own, status, reason, ...(q850Cause !== undefined && { q850Cause }) };
  }
  return responses;
}
