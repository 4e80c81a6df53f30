import type { ExchangeUser, IncomingRequest, IncomingResponse, Outcome, RefusalCause } from "../signalling/port.ts";
import type { AttemptFailure } from "./failover-policy.ts";
import { relayedReply } from "./headers.ts";
import type { LocalCause, LocalReplies, LocalReply } from "./local-responses.ts";

/** An outcome, without what only a log would want to know. */
type Ending =
  | Extract<Outcome, { kind: "response" | "timeout" }>
  | { readonly kind: "transport-failure" }
  | { readonly kind: "refused"; readonly cause: RefusalCause };

/** Header rules, for what is passed on. */
export type Treat = (headers: Record<string, string>) => void;

export interface ReplyParts {
  readonly replies: LocalReplies;
  /** Of the leg that the response goes to. */
  readonly transport?: string;
  readonly treat?: Treat;
}

/** The response that passes on how a request ended. */
export function replyTo(outcome: Ending, { replies, transport, treat }: ReplyParts): LocalReply {
  if (outcome.kind !== "response") return replies.for(causeOf(outcome));
  const reply = relayedReply(outcome.response, transport);
  treat?.(reply.headers);
  return reply;
}

/** What the caller is told when nothing is left to try: the last attempt's own final response, or what stands for it. */
export function refusalAfter(failure: AttemptFailure, parts: ReplyParts): LocalReply {
  if (failure.kind === "no-response" || failure.kind === "ring-timeout") return parts.replies.for("no-answer");
  return replyTo(failure, parts);
}

function causeOf(outcome: Exclude<Ending, { kind: "response" }>): LocalCause {
  if (outcome.kind === "timeout") return "no-answer";
  if (outcome.kind === "transport-failure" || outcome.cause === "disconnected") return "unreachable";
  return outcome.cause;
}

/** A request other than INVITE, passed from one leg to the other; its response passes back. */
export class RelayedRequest implements ExchangeUser {
  readonly #request: IncomingRequest;
  readonly #parts: ReplyParts;
  readonly #ended: ((reply: LocalReply) => void) | undefined;

  /** `ended` hears the final response after it was passed back. */
  constructor(request: IncomingRequest, parts: ReplyParts, ended?: (reply: LocalReply) => void) {
    this.#request = request;
    this.#parts = parts;
    this.#ended = ended;
  }

  provisional(response: IncomingResponse): void {
    if (response.status > 100) this.#request.respond(replyTo({ kind: "response", response }, this.#parts));
  }

  final(outcome: Outcome): void {
    const reply = replyTo(outcome, this.#parts);
    this.#request.respond(reply);
    this.#ended?.(reply);
  }
}
