import type {
  ExchangeUser,
  IncomingRequest,
  IncomingResponse,
  Outcome,
  RefusalCause,
  Reply,
} from "../signalling/port.ts";
import type { AttemptFailure } from "./failover-policy.ts";
import { relayedReply } from "./headers.ts";
import type { LocalCause, LocalReplies } from "./local-responses.ts";

/** An outcome, without what only a log would want to know. */
type Ending =
  | Extract<Outcome, { kind: "response" | "timeout" }>
  | { readonly kind: "transport-failure" }
  | { readonly kind: "refused"; readonly cause: RefusalCause };

/** The response that passes on how a request ended. */
export function replyTo(outcome: Ending, replies: LocalReplies, transport = ""): Reply {
  return outcome.kind === "response" ? relayedReply(outcome.response, transport) : replies.for(causeOf(outcome));
}

/** What the caller is told when nothing is left to try: the last attempt's own final response, or what stands for it. */
export function refusalAfter(failure: AttemptFailure, replies: LocalReplies, transport: string): Reply {
  if (failure.kind === "no-response" || failure.kind === "ring-timeout") return replies.for("no-answer");
  return replyTo(failure, replies, transport);
}

function causeOf(outcome: Exclude<Ending, { kind: "response" }>): LocalCause {
  if (outcome.kind === "timeout") return "no-answer";
  if (outcome.kind === "transport-failure" || outcome.cause === "disconnected") return "unreachable";
  return outcome.cause;
}

/** A request other than INVITE, passed from one leg to the other; its response passes back. */
export class RelayedRequest implements ExchangeUser {
  readonly #request: IncomingRequest;
  readonly #replies: LocalReplies;
  readonly #ended: ((status: number) => void) | undefined;

  /** `ended` hears the final status after it was passed back. */
  constructor(request: IncomingRequest, replies: LocalReplies, ended?: (status: number) => void) {
    this.#request = request;
    this.#replies = replies;
    this.#ended = ended;
  }

  provisional(response: IncomingResponse): void {
    if (response.status > 100) this.#request.respond(relayedReply(response));
  }

  final(outcome: Outcome): void {
    const reply = replyTo(outcome, this.#replies);
    this.#request.respond(reply);
    this.#ended?.(reply.status);
  }
}
