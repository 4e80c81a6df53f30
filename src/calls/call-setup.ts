import type { FailoverParams } from "../routing/params.ts";
import type { Attempt } from "./attempt.ts";
import type { CallerLeg } from "./caller-leg.ts";
import { type AttemptFailure, isOfThisAddress, mayFailOver, redirectionOf } from "./failover-policy.ts";
import type { LocalCause, LocalReplies, LocalReply } from "./local-responses.ts";
import { type Candidate, candidateAfter, candidateOf } from "./next-hop.ts";
import { refusalAfter, type Treat } from "./relay.ts";
import type { CallRoute } from "./route.ts";

export interface SetupParts {
  readonly replies: LocalReplies;
  /** 0 inclusive to 1 exclusive. */
  readonly random: () => number;
  /** Header rules, for the responses of the agent in force. */
  readonly treat: Treat;
}

/** What a call needs until it is answered, and drops then: who is tried, and what the caller is told where nobody is left. */
export class CallSetup {
  readonly leg: CallerLeg;
  /** The early dialogs of the attempt in force: more than one when the INVITE was forked. */
  readonly early = new Set<string>();
  /** The one in force. */
  attempt: Attempt | undefined;
  readonly #plan: CallRoute;
  readonly #parts: SetupParts;
  /** Whom that attempt is to; after its failure the same agent's next address, where it has another. */
  #candidate: Candidate | undefined;
  #failure: AttemptFailure | undefined;
  #refusal: LocalReply | undefined;

  constructor(leg: CallerLeg, plan: CallRoute, parts: SetupParts) {
    this.leg = leg;
    this.#plan = plan;
    this.#parts = parts;
  }

  get failover(): FailoverParams {
    return this.#plan.failover;
  }

  /** Whom to try now; undefined when nobody is left. */
  next(): Candidate | undefined {
    this.#candidate ??= this.#select();
    return this.#candidate;
  }

  /** The attempt in force has failed. False: the failure is the caller's to know. */
  failed(failure: AttemptFailure): boolean {
    this.#failure = failure;
    this.leg.leaveAgent();
    this.#candidate = this.#elsewhere(failure);
    if (this.#candidate) return true;
    const { earlyMedia } = this.leg;
    const redirection = redirectionOf(failure, this.#plan, earlyMedia);
    if (redirection === "loop") this.refuseWith("loop");
    return redirection === "none" ? mayFailOver(failure, this.#plan, earlyMedia) : redirection === "followed";
  }

  /** Whatever else happens, this is what the caller is refused with. */
  refuseWith(cause: LocalCause): void {
    this.#refusal = this.#parts.replies.for(cause);
  }

  /** What the caller is refused with. */
  get refusal(): LocalReply {
    return this.#refusal ?? this.#lastFailure ?? this.#parts.replies.for("next-hop-sa-oos");
  }

  get #lastFailure(): LocalReply | undefined {
    const { replies, treat } = this.#parts;
    return this.#failure && refusalAfter(this.#failure, { replies, transport: this.leg.transport, treat });
  }

  #select(): Candidate | undefined {
    const selection = this.#plan.next();
    if (selection.kind !== "exhausted") return candidateOf(selection, this.#parts.random);
    const failed = selection.cause === "phone-unreachable" ? undefined : this.#lastFailure;
    this.#refusal ??= failed ?? this.#parts.replies.for(selection.cause);
    return undefined;
  }

  /** Another address of the agent that failed: the same place, and no matter for the groups that it was chosen from. */
  #elsewhere(failure: AttemptFailure): Candidate | undefined {
    const goesOn = !this.leg.earlyMedia && isOfThisAddress(failure);
    const next = this.#candidate && goesOn ? candidateAfter(this.#candidate) : undefined;
    const lease = next && this.attempt?.takeLease();
    return lease && { ...next, lease };
  }
}
