import type { Evidence } from "../agents/evidence.ts";
import type { Lease, ReleaseReason } from "../agents/lease.ts";
import type { SessionAgent } from "../agents/session-agent.ts";
import type { Clock, Ms, Timer } from "../clock.ts";
import { policyName } from "../routing/explanation.ts";
import type { FailoverParams } from "../routing/params.ts";
import { hostPort } from "../signalling/addresses.ts";
import { routeTo } from "../signalling/next-hop.ts";
import {
  type Exchange,
  type ExchangeUser,
  type Headers,
  type IncomingRequest,
  type IncomingResponse,
  type Outcome,
  type Signalling,
  unheeded,
} from "../signalling/port.ts";
import { type AttemptFailure, isOfThisAddress } from "./failover-policy.ts";
import type { HeaderRules } from "./header-rules.ts";
import { inviteFor } from "./headers.ts";
import { heardFrom } from "./heard-agent.ts";
import type { Candidate } from "./next-hop.ts";
import type { AttemptTrace } from "./record.ts";

/**
 * How long an attempt that we gave up still holds its place at an agent that does not say it has given up too. A place
 * given back at once would let a caller who cancels and calls again have two.
 */
const settlingTime: Ms = 4_000;

export interface AttemptOwner {
  /** A provisional response beyond 100. */
  progressed(attempt: Attempt, response: IncomingResponse): void;
  answered(attempt: Attempt, response: IncomingResponse): void;
  /** Where the agent has other addresses, the attempt still holds its place, which may be taken over to one of them. */
  failed(attempt: Attempt, failure: AttemptFailure): void;
  /** The attempt was given up and is over at the agent too, as far as it will ever be. */
  settled(attempt: Attempt): void;
}

export interface AttemptParts {
  readonly signalling: Signalling;
  readonly clock: Clock;
  readonly headerRules: HeaderRules;
}

/**
 * One INVITE to one next hop, with a Call-ID and From tag of its own. It owns its lease, tells the agent's manager what
 * comes back, and when it is given up it cleans up by the book: CANCEL once there was a provisional response, ACK and BYE
 * if a 2xx still comes.
 */
export class Attempt implements ExchangeUser {
  readonly trace: AttemptTrace;
  /** The early dialog with the agent, "" before there is one. */
  dialogId = "";
  readonly #owner: AttemptOwner;
  readonly #parts: AttemptParts;
  /** Undefined for a next hop that is no agent. */
  readonly agent: SessionAgent | undefined;
  readonly #candidate: Candidate;
  #lease: Lease | undefined;
  #exchange: Exchange | undefined;
  #heard = false;
  #sentAt: Ms = 0;
  #givenUp = false;
  #settled = false;
  /** Until the first response, then until the agent has ended what was given up. */
  #patience: Timer | undefined;
  #ringing: Timer | undefined;

  constructor(owner: AttemptOwner, parts: AttemptParts, candidate: Candidate) {
    this.#owner = owner;
    this.#parts = parts;
    this.#candidate = candidate;
    this.agent = candidate.agent;
    this.#lease = candidate.lease;
    const { hop, group, policy } = candidate;
    const address = hop.endpoint && hostPort(hop.endpoint.address, hop.endpoint.port);
    this.trace = {
      agent: hop.name,
      ...(group !== undefined && { group }),
      ...(policy !== undefined && { policy: policyName(policy) }),
      ...(address !== undefined && { address }),
      callId: "",
      outcome: "calling",
    };
  }

  /** `from`: the session agent that the INVITE is from, where it is from one. */
  start(invite: IncomingRequest, params: FailoverParams, from?: SessionAgent): void {
    const { signalling, clock, headerRules } = this.#parts;
    const { uri, headers } = inviteFor(invite, this.#candidate);
    headerRules.apply(headers, "requests", from, this.agent);
    const firstResponse = params["first-response-timeout"];
    // Where 100 is not shown, an agent that works in silence would look like one that is dead.
    if (firstResponse > 0 && signalling.showsTrying) {
      this.#patience = clock.after(firstResponse * 1_000, () => this.#giveUpAs({ kind: "no-response" }));
    }
    const ringing = params["ring-timeout"];
    if (ringing > 0) this.#ringing = clock.after(ringing * 1_000, () => this.#giveUpAs({ kind: "ring-timeout" }));
    this.#sentAt = clock.now();
    const way = { ...routeTo(this.#candidate.hop), peer: this.agent?.hostname };
    const request = { method: "INVITE", uri, ...way, dialogId: "", headers, body: invite.body };
    this.#exchange = signalling.send(request, this);
  }

  sent(callId: string): void {
    this.trace.callId = callId;
  }

  provisional(response: IncomingResponse): void {
    const evidence = { kind: "response", purpose: "traffic", status: response.status, createsDialog: true } as const;
    this.#observe(this.#heard ? evidence : { ...evidence, sentAt: this.#sentAt });
    if (!this.#heard) {
      this.#heard = true;
      if (!this.#givenUp) this.#cancelPatience();
    }
    if (this.#givenUp || response.status === 100) return;
    if (response.dialogId !== "") this.dialogId = response.dialogId;
    this.trace.outcome = "ringing";
    this.#owner.progressed(this, response);
  }

  final(outcome: Outcome): void {
    this.#cancelPatience();
    this.#ringing?.cancel();
    this.#observeEnd(outcome);
    if (outcome.kind === "response" && outcome.response.status < 300) {
      this.#answered(outcome.response);
      return;
    }
    this.#traceEnd(outcome.kind === "response" ? String(outcome.response.status) : outcome.kind);
    const why = outcome.kind === "response" ? "rejected" : outcome.kind === "refused" ? "error" : outcome.kind;
    if (this.#givenUp) {
      this.release(why);
      this.#settle();
    } else this.#fail(outcome, why);
  }

  /** PRACK for a reliable provisional response: with the caller's own, or in its stead (RFC 3262 section 4). */
  acknowledge(response: IncomingResponse, prack?: { request: Headers; body: string; user: ExchangeUser }): void {
    const headers = { ...prack?.request, rack: `${response.headers.rseq} ${response.headers.cseq}` };
    const { dialogId } = response;
    const peer = this.agent?.hostname;
    const request = { method: "PRACK", uri: "", peer, dialogId, headers, body: prack?.body ?? "" };
    this.#parts.signalling.send(request, heardFrom(this.agent, prack?.user ?? unheeded));
  }

  /** The caller has gone. The place is held until the agent has ended too, or does not say so within 4 s. */
  cancel(reason: Headers): void {
    if (this.#givenUp) return;
    this.#giveUp(reason);
    this.#traceEnd("cancelled");
    this.#patience = this.#parts.clock.after(settlingTime, () => {
      this.release("cancelled");
      this.#settle();
    });
  }

  /** The engine is gone: nothing more will be heard. */
  lost(): void {
    this.#givenUp = true;
    this.#settled = true;
    this.#cancelPatience();
    this.#ringing?.cancel();
    this.release("error");
  }

  /** Hands over the place of an answered attempt. */
  takeLease(): Lease | undefined {
    const lease = this.#lease;
    this.#lease = undefined;
    return lease;
  }

  release(why: ReleaseReason): void {
    this.takeLease()?.release(why);
  }

  #answered(response: IncomingResponse): void {
    this.#lease?.answered();
    if (!this.#givenUp) {
      this.#traceEnd(String(response.status));
      this.#owner.answered(this, response);
      return;
    }
    response.ack();
    const { dialogId } = response;
    const bye = { method: "BYE", uri: "", peer: this.agent?.hostname, dialogId, headers: {}, body: "" };
    this.#parts.signalling.send(bye, heardFrom(this.agent, unheeded));
    this.release("bye");
    this.#settle();
  }

  #giveUpAs(failure: AttemptFailure): void {
    this.#giveUp({});
    this.#traceEnd(failure.kind);
    const { endpoint } = this.#candidate.hop;
    if (failure.kind === "no-response" && endpoint) this.agent?.silent(endpoint);
    // Silence holds no place; a phone that rings does, until it has stopped.
    if (!this.#heard) {
      this.#fail(failure, "failover");
      return;
    }
    this.#patience = this.#parts.clock.after(settlingTime, () => this.release("failover"));
    this.#owner.failed(this, failure);
  }

  #fail(failure: AttemptFailure, why: ReleaseReason): void {
    const others = this.#candidate.others?.length ?? 0;
    if (others === 0 || !isOfThisAddress(failure)) this.release(why);
    this.#owner.failed(this, failure);
    this.release(why);
  }

  #giveUp(reason: Headers): void {
    this.#givenUp = true;
    this.#cancelPatience();
    this.#ringing?.cancel();
    this.#exchange?.cancel(reason);
  }

  #settle(): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#owner.settled(this);
  }

  #cancelPatience(): void {
    this.#patience?.cancel();
    this.#patience = undefined;
  }

  #traceEnd(outcome: string): void {
    if (!this.#givenUp || this.trace.outcome === "calling" || this.trace.outcome === "ringing") {
      this.trace.outcome = outcome;
    }
  }

  #observe(evidence: Evidence): void {
    const { endpoint } = this.#candidate.hop;
    this.agent?.observe(endpoint ? { ...evidence, endpoint } : evidence);
  }

  #observeEnd(outcome: Outcome): void {
    const purpose = "traffic";
    if (outcome.kind === "response") {
      const { status, headers } = outcome.response;
      const retryAfterS = status === 503 ? Number.parseInt(headers["retry-after"] ?? "", 10) : Number.NaN;
      const hold = Number.isNaN(retryAfterS) ? {} : { retryAfterS };
      const sent = this.#heard ? {} : { sentAt: this.#sentAt };
      this.#observe({ kind: "response", purpose, status, createsDialog: true, ...hold, ...sent });
    } else if (outcome.kind === "transport-failure") {
      const kind = outcome.unresolved ? "name-failure" : "transport-failure";
      this.#observe({ kind, purpose, detail: outcome.detail });
    } else if (outcome.kind === "timeout" && !(this.#givenUp && this.#heard)) {
      // An agent that answered, and then not our CANCEL, is odd, not dead (RFC 3261 section 9.1).
      this.#observe({ kind: "timeout", purpose });
    }
  }
}
