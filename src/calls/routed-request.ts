import type { SessionAgent } from "../agents/session-agent.ts";
import type { Clock, Timer } from "../clock.ts";
import { routeTo } from "../signalling/next-hop.ts";
import type {
  ExchangeUser,
  IncomingRequest,
  IncomingResponse,
  Outcome,
  OutgoingRequest,
  Reply,
  Signalling,
} from "../signalling/port.ts";
import { type AttemptFailure, isOfThisAddress, mayFailOver } from "./failover-policy.ts";
import type { HeaderRules } from "./header-rules.ts";
import type { SentRequest } from "./headers.ts";
import type { LocalReplies } from "./local-responses.ts";
import { type Candidate, candidateAfter, candidateOf } from "./next-hop.ts";
import { replyTo } from "./relay.ts";
import type { CallRoute } from "./route.ts";
import { Witness } from "./witness.ts";

export interface RoutedRequestParts {
  readonly signalling: Signalling;
  readonly clock: Clock;
  readonly replies: LocalReplies;
  readonly headerRules: HeaderRules;
  /** 0 inclusive to 1 exclusive. */
  readonly random: () => number;
}

/** What the relay of a kind of requests is made of. */
export interface RoutedRequestOptions {
  /** The request as it goes to a candidate. */
  readonly outgoing: (to: Candidate) => SentRequest;
  /** May change the final response before it is passed back; not asked about what Weir answers by itself. */
  readonly answered?: (
    response: IncomingResponse,
    reply: Reply & { readonly headers: Record<string, string> },
    by: Candidate,
  ) => void;
  /** The final response has been passed back, or what stands for it. */
  readonly ended?: (status: number) => void;
  /** The challenges of agents are ours to answer. Where not, they are passed back like any other response. */
  readonly ownCredentials?: true;
  /** Its 2xx makes a dialog, so that an answer speaks for the agent as one to an INVITE does (SEMANTICS.md section 4.1). */
  readonly createsDialog?: true;
  /** The agent that the request is from, where it is from one. */
  readonly from?: SessionAgent | undefined;
}

/**
 * A request other than INVITE outside any dialog: sent to one candidate of its route after another until one answers
 * it. It takes no place at an agent; the rates of its method are counted where it is admitted (SEMANTICS.md section 3).
 */
export class RoutedRequest {
  readonly #request: IncomingRequest;
  readonly #route: CallRoute;
  readonly #parts: RoutedRequestParts;
  readonly #options: RoutedRequestOptions;
  #failure: Outcome | undefined;
  #current: RequestAttempt | undefined;
  #over = false;

  constructor(request: IncomingRequest, route: CallRoute, parts: RoutedRequestParts, options: RoutedRequestOptions) {
    this.#request = request;
    this.#route = route;
    this.#parts = parts;
    this.#options = options;
  }

  start(): void {
    if (!this.#tryNext()) this.#refuse();
  }

  progressed(attempt: RequestAttempt, response: IncomingResponse): void {
    if (this.#over || attempt !== this.#current || response.status === 100) return;
    this.#request.respond(replyTo({ kind: "response", response }, this.#parts));
  }

  /** Nothing came within `first-response-timeout`. An answer that comes later is still good while no other agent was asked. */
  silent(attempt: RequestAttempt): void {
    if (this.#over || attempt !== this.#current) return;
    const { agent, hop } = attempt.candidate;
    if (hop.endpoint) agent?.silent(hop.endpoint);
    if (this.#tryElsewhere({ kind: "no-response" })) return;
    if (this.#route.failed()) this.#tryNext();
  }

  ended(attempt: RequestAttempt, outcome: Outcome): void {
    if (this.#over || attempt !== this.#current) return;
    this.#failure = outcome;
    if (this.#tryElsewhere(outcome)) return;
    const answered = outcome.kind === "response" && outcome.response.status < 300;
    if (!answered && mayFailOver(outcome, this.#route, false) && this.#tryNext()) return;
    this.#refuse();
  }

  /** False when there is nobody left to ask. */
  #tryNext(): boolean {
    const selection = this.#route.next();
    if (selection.kind === "exhausted") {
      if (!this.#current || selection.cause === "phone-unreachable") {
        this.#respond(this.#parts.replies.for(selection.cause));
      }
      return false;
    }
    const candidate = candidateOf(selection, this.#parts.random);
    // Admitted and counted: it holds no place.
    candidate.lease?.release("done");
    this.#send(candidate);
    return true;
  }

  /** At another address of the agent that failed; false when there is none, or it would not help. */
  #tryElsewhere(failure: AttemptFailure): boolean {
    const candidate = this.#current && isOfThisAddress(failure) ? candidateAfter(this.#current.candidate) : undefined;
    if (candidate) this.#send(candidate);
    return candidate !== undefined;
  }

  #send(candidate: Candidate): void {
    const attempt = new RequestAttempt(this, this.#parts, candidate, this.#options.createsDialog);
    this.#current = attempt;
    const { headers, ...where } = this.#options.outgoing(candidate);
    this.#parts.headerRules.apply(headers, "requests", this.#options.from, candidate.agent);
    const { method, body } = this.#request;
    const peer = this.#options.ownCredentials && candidate.agent?.hostname;
    const request = { method, ...where, ...routeTo(candidate.hop), peer, dialogId: "", headers, body };
    attempt.start(request, this.#route.failover["first-response-timeout"]);
  }

  /** The last outcome is the answer. */
  #refuse(): void {
    const outcome = this.#failure;
    const by = this.#current?.candidate;
    if (this.#over || !outcome || !by) return;
    const reply = replyTo(outcome, {
      replies: this.#parts.replies,
      treat: (headers) => this.#parts.headerRules.apply(headers, "responses", by.agent, this.#options.from),
    });
    const passed = { ...reply, headers: { ...reply.headers } };
    if (outcome.kind === "response") this.#options.answered?.(outcome.response, passed, by);
    this.#respond(passed);
  }

  #respond(reply: Reply): void {
    this.#over = true;
    this.#request.respond(reply);
    this.#options.ended?.(reply.status);
  }
}

/** The request at one candidate. */
class RequestAttempt implements ExchangeUser {
  readonly candidate: Candidate;
  readonly #owner: RoutedRequest;
  readonly #signalling: Signalling;
  readonly #clock: Clock;
  readonly #createsDialog: true | undefined;
  #witness: Witness | undefined;
  #patience: Timer | undefined;

  constructor(
    owner: RoutedRequest,
    { signalling, clock }: RoutedRequestParts,
    candidate: Candidate,
    createsDialog?: true,
  ) {
    this.candidate = candidate;
    this.#createsDialog = createsDialog;
    this.#owner = owner;
    this.#signalling = signalling;
    this.#clock = clock;
  }

  /** `patience` in seconds, 0 = the transaction's own. */
  start(request: OutgoingRequest, patience: number): void {
    const { agent, hop } = this.candidate;
    const createsDialog = this.#createsDialog;
    this.#witness = new Witness({ agent, endpoint: hop.endpoint, sentAt: this.#clock.now(), createsDialog });
    if (patience > 0) this.#patience = this.#clock.after(patience * 1_000, () => this.#owner.silent(this));
    this.#signalling.send(request, this);
  }

  provisional(response: IncomingResponse): void {
    this.#patience?.cancel();
    this.#witness?.response(response);
    this.#owner.progressed(this, response);
  }

  final(outcome: Outcome): void {
    this.#patience?.cancel();
    this.#witness?.final(outcome);
    this.#owner.ended(this, outcome);
  }
}
