import type { Lease, ReleaseReason } from "../agents/lease.ts";
import {
  type Headers,
  type IncomingAck,
  type IncomingRequest,
  type IncomingResponse,
  unheeded,
} from "../signalling/port.ts";
import { Attempt, type AttemptOwner } from "./attempt.ts";
import type { CallEnd, CallHost } from "./call-host.ts";
import { CallLegs, otherSide } from "./call-legs.ts";
import { CallSetup } from "./call-setup.ts";
import { type CallAction, type CallEvent, type CallState, transitions } from "./call-states.ts";
import type { CallerLeg } from "./caller-leg.ts";
import { DialogRelay, type RelayHost } from "./dialog-relay.ts";
import type { AttemptFailure } from "./failover-policy.ts";
import { hopsLeft, relayedAck, relayedRequestHeaders } from "./headers.ts";
import type { LocalCause, LocalReplies } from "./local-responses.ts";
import type { CallRecord, Side } from "./record.ts";
import { RelayedRequest, type Treat } from "./relay.ts";
import type { CallRoute } from "./route.ts";
import { SessionWatch, type WatchedSession } from "./session-watch.ts";

/** One call: the caller's leg, and one agent's after another until one answers. */
export class Call implements AttemptOwner, RelayHost, WatchedSession {
  readonly record: CallRecord;
  readonly #host: CallHost;
  #state: CallState = "routing";
  #setup: CallSetup | undefined;
  readonly #legs: CallLegs;
  /** The agent's 2xx that waits for the answer in the caller's ACK. */
  #unacknowledged: IncomingResponse | undefined;
  readonly #relay: DialogRelay;
  /** From the answer on. */
  #watch: SessionWatch | undefined;
  #end: CallEnd = "rejected";
  #status = 0;

  constructor(host: CallHost, id: string, leg: CallerLeg, plan: CallRoute, callerLease: Lease | undefined) {
    const { headers, source } = leg.invite;
    this.#host = host;
    const { replies, random } = host;
    this.#setup = new CallSetup(leg, plan, { replies, random, treat: this.#treat });
    this.record = {
      id,
      caller: { callId: leg.callId, from: headers.from ?? "", to: headers.to ?? "", source },
      callerDialog: leg.dialogId,
      agentDialog: "",
      agent: "",
      attempts: [],
      route: plan.trace,
      startedAt: host.clock.now(),
      answeredAt: undefined,
      expiresAt: undefined,
      refusal: undefined,
    };
    this.#legs = new CallLegs(host, this.record, callerLease);
    this.#relay = new DialogRelay(this, this.#legs);
    leg.invite.onCancel = (cancel) => {
      this.#legs.heard("caller", "CANCEL");
      this.#end = "cancelled";
      this.#step("cancel", { reason: cancel.reason });
    };
  }

  get state(): CallState {
    return this.#state;
  }

  get replies(): LocalReplies {
    return this.#host.replies;
  }

  /** The first INVITE is acknowledged on both legs, so that another may follow (RFC 3261 section 14.1). */
  get confirmed(): boolean {
    return this.#state === "confirmed";
  }

  start(): void {
    this.#host.adopt(this.record.callerDialog, this);
    this.#tryNext();
  }

  /** Ends the call whatever its state; both legs are told. */
  abort(end: CallEnd, refusal: LocalCause): void {
    this.#end = end;
    this.#setup?.refuseWith(refusal);
    this.#step("abort");
  }

  /** A leg knows its dialog no more. Before the answer that is no end: other dialogs may be made. */
  dialogGone(): void {
    if (this.#state === "confirmed" || this.#state === "answered") this.abort("dialog-gone", "no-dialog");
  }

  overdue(end: "session-expired" | "life-limit"): void {
    this.abort(end, "no-dialog");
  }

  refreshed(answer: Headers): void {
    this.record.expiresAt = this.#watch?.refreshed(answer);
  }

  /** The engine is gone, and all its transactions and dialogs with it. */
  lost(): void {
    this.#end = "link-lost";
    this.#step("lost");
  }

  // The agent's side of the setup.

  progressed(attempt: Attempt, response: IncomingResponse): void {
    if (attempt === this.#setup?.attempt) this.#step("progress", { response });
  }

  answered(attempt: Attempt, response: IncomingResponse): void {
    if (attempt === this.#setup?.attempt) this.#step("answer", { response });
  }

  failed(attempt: Attempt, failure: AttemptFailure): void {
    const setup = this.#setup;
    if (setup?.attempt !== attempt) return;
    this.#leaveEarly(setup.early);
    this.record.agentDialog = "";
    this.#step(setup.failed(failure) ? "failover" : "reject");
  }

  settled(attempt: Attempt): void {
    if (attempt === this.#setup?.attempt) this.#step("settled");
  }

  // Requests within the call's dialogs.

  sideOf(dialogId: string): Side {
    return this.#legs.sideOf(dialogId);
  }

  request(side: Side, request: IncomingRequest): void {
    this.#legs.heard(side, request.method);
    if (hopsLeft(request.headers) < 0) {
      request.respond(this.#host.replies.for("too-many-hops"));
      return;
    }
    switch (request.method) {
      case "BYE":
        this.#bye(side, request);
        break;
      case "PRACK":
        this.#prack(side, request);
        break;
      default:
        this.#relay.request(side, request);
        break;
    }
  }

  ack(side: Side, ack: IncomingAck): void {
    if (this.#relay.ack(side, ack) || side === "agent") return;
    this.#step("ack", { ack });
    this.#relay.proceed();
  }

  /** The engine has hung up on one side by itself. */
  dialogEnded(side: Side): void {
    this.#end = this.#state === "answered" && side === "caller" ? "no-ack" : `${side}-bye`;
    this.#step(`${side}-bye`);
  }

  #bye(side: Side, request: IncomingRequest): void {
    const early = this.#setup !== undefined;
    if (early && side === "agent") {
      request.respond(this.#host.replies.for("no-dialog"));
      return;
    }
    request.respond(this.#host.replies.for("ok"));
    this.#end = early ? "cancelled" : `${side}-bye`;
    this.#step(`${side}-bye`, { bye: request, reason: request.headers.reason });
  }

  #prack(side: Side, request: IncomingRequest): void {
    const setup = this.#setup;
    if (side === "agent" || !setup) {
      this.#relay.request(side, request);
      return;
    }
    const response = setup.leg.takeAcknowledged();
    if (!response?.reliable || !setup.attempt) {
      // It acknowledges what only this leg sent reliably, or an agent that has been given up.
      request.respond(this.#host.replies.for("ok"));
      return;
    }
    const user = new RelayedRequest(request, { replies: this.#host.replies, treat: this.#treat });
    const headers = relayedRequestHeaders(request.headers);
    this.#legs.pass("caller", headers, "requests");
    setup.attempt.acknowledge(response, { request: headers, body: request.body, user });
  }

  /** Header rules, for the responses of the agent in force. */
  get #treat(): Treat {
    return (headers) => this.#legs.pass("agent", headers, "responses");
  }

  // The machine.

  #step(event: CallEvent, input: StepInput = {}): void {
    const { next, actions } = transitions[this.#state][event];
    if (next === this.#state && actions.length === 0) return;
    this.#state = next;
    for (const action of actions) this.#act(action, input);
    // Not by the state: an action may have taken a further step, and that one has finished the call.
    if (next === "ended") this.#finish();
  }

  #act(action: CallAction, input: StepInput): void {
    switch (action) {
      case "try-next":
        this.#tryNext();
        break;
      case "relay-progress":
        this.#relayProgress(input.response);
        break;
      case "answer-caller":
        this.#answerCaller(input.response);
        break;
      case "refuse-caller":
        this.#refuseCaller();
        break;
      case "terminate-invite":
        this.#setup?.leg.refuse(this.#host.replies.for("terminated"));
        break;
      case "cancel-attempt":
        this.#setup?.attempt?.cancel(input.reason === undefined ? {} : { reason: input.reason });
        break;
      case "ack-agent":
        this.#acknowledgeAgent(input.ack);
        break;
      case "bye-agent":
        this.#hangUp("agent", input.bye);
        break;
      case "bye-caller":
        this.#hangUp("caller", input.bye);
        break;
      case "release-caller":
        this.#release("caller");
        break;
      case "release-agent":
        this.#release("agent");
        break;
    }
  }

  #tryNext(): void {
    const setup = this.#setup;
    if (!setup) return;
    const candidate = setup.next();
    if (!candidate) {
      this.#step("reject");
      return;
    }
    const attempt = new Attempt(this, this.#host, candidate);
    setup.attempt = attempt;
    this.#legs.attempt(attempt.agent);
    this.record.agent = candidate.hop.name;
    this.record.attempts.push(attempt.trace);
    this.#step("sent");
    attempt.start(setup.leg.invite, setup.failover, this.#legs.agentOn("caller"));
  }

  #relayProgress(response: IncomingResponse | undefined): void {
    const setup = this.#setup;
    if (!setup || !response) return;
    const dialogId = setup.attempt?.dialogId ?? "";
    if (dialogId !== "" && !setup.early.has(dialogId)) {
      setup.early.add(dialogId);
      this.#host.adopt(dialogId, this);
    }
    this.record.agentDialog = dialogId;
    const settledByCaller = setup.leg.progress(response, this.#treat);
    if (response.reliable && !settledByCaller) setup.attempt?.acknowledge(response);
  }

  #answerCaller(response: IncomingResponse | undefined): void {
    const setup = this.#setup;
    if (!setup || !response) return;
    this.#setup = undefined;
    this.#legs.answered(setup.attempt?.takeLease());
    this.record.answeredAt = this.#host.clock.now();
    this.#status = response.status;
    setup.early.delete(response.dialogId);
    this.#leaveEarly(setup.early);
    this.record.agentDialog = response.dialogId;
    this.#host.adopt(response.dialogId, this);
    if (setup.leg.lateOffer && response.body !== "") this.#unacknowledged = response;
    else response.ack();
    this.#watch = new SessionWatch(this, this.#legs, this.#host);
    this.record.expiresAt = this.#watch.start(response.headers);
    this.#host.answered(this);
    // Last, as the engine may refuse it at once, which ends the call.
    setup.leg.answer(response, this.#treat, () => this.#answerRefused());
  }

  /** The caller's CANCEL overtook our 2xx: the engine has told the caller 487. */
  #answerRefused(): void {
    this.#end = "cancelled";
    this.#step("cancel");
  }

  #refuseCaller(): void {
    const setup = this.#setup;
    if (!setup) return;
    const reply = setup.refusal;
    this.#status = reply.status;
    this.record.refusal = reply.cause;
    setup.leg.refuse(reply);
  }

  #acknowledgeAgent(ack: IncomingAck | undefined): void {
    this.#unacknowledged?.ack(ack && relayedAck(ack));
    this.#unacknowledged = undefined;
  }

  #hangUp(side: Side, bye: IncomingRequest | undefined): void {
    // A 2xx is acknowledged before it is hung up on, even without the answer it asked for (RFC 3261 section 13.2.2.4).
    if (side === "agent") this.#acknowledgeAgent(undefined);
    const headers = bye ? relayedRequestHeaders(bye.headers) : {};
    if (bye) this.#legs.pass(otherSide(side), headers, "requests");
    this.#legs.send(side, { method: "BYE", headers, body: bye?.body ?? "" }, unheeded);
  }

  #leaveEarly(dialogs: Set<string>): void {
    for (const dialogId of dialogs) this.#host.forget(dialogId, this);
    dialogs.clear();
  }

  #release(side: Side): void {
    this.#legs.release(side, releaseReasons[this.#end]);
  }

  /** The one end of every call. */
  #finish(): void {
    this.#watch?.stop();
    this.#relay.abandon();
    const setup = this.#setup;
    this.#setup = undefined;
    if (setup) this.#leaveEarly(setup.early);
    // Else it has ended, or was given up and sees to its own end.
    if (this.#end === "link-lost") setup?.attempt?.lost();
    this.#release("caller");
    this.#release("agent");
    this.#host.forget(this.record.callerDialog, this);
    if (this.record.agentDialog !== "") this.#host.forget(this.record.agentDialog, this);
    this.#host.ended(this, this.#end, this.#status);
  }
}

const releaseReasons: Readonly<Record<CallEnd, ReleaseReason>> = {
  "caller-bye": "bye",
  "agent-bye": "bye",
  cancelled: "cancelled",
  rejected: "rejected",
  shutdown: "shutdown",
  "no-ack": "error",
  "dialog-gone": "error",
  "session-expired": "error",
  "life-limit": "error",
  "link-lost": "error",
};

interface StepInput {
  readonly response?: IncomingResponse;
  readonly ack?: IncomingAck;
  /** The BYE that is passed on. */
  readonly bye?: IncomingRequest;
  /** The caller's Reason (RFC 3326). */
  readonly reason?: string | undefined;
}
