import type { Logger } from "pino";
import type { AgentManager } from "../agents/agent-manager.ts";
import type { Lease } from "../agents/lease.ts";
import type { SessionAgent } from "../agents/session-agent.ts";
import { type Clock, wallMinusMonotonic } from "../clock.ts";
import type { RealmConfig, SessionLimits } from "../config/config.ts";
import type { HeaderRuleSet } from "../config/header-rules.ts";
import type { LocalResponseMap } from "../config/local-responses.ts";
import { policyName, routeView, shortOf } from "../routing/explanation.ts";
import type { Router } from "../routing/router.ts";
import {
  dialogIdOf,
  type IncomingAck,
  type IncomingRequest,
  type Signalling,
  type SignallingUser,
  unheeded,
} from "../signalling/port.ts";
import { Call } from "./call.ts";
import type { CallEnd, CallHost } from "./call-host.ts";
import { CallerLeg } from "./caller-leg.ts";
import { CallCounters } from "./counters.ts";
import { HeaderRules } from "./header-rules.ts";
import { answersChallenge, callersDialog, hopsLeft, requestFor, type SentRequest, tagOf } from "./headers.ts";
import { type LocalCause, LocalReplies, type RetryAfterRange } from "./local-responses.ts";
import type { Candidate } from "./next-hop.ts";
import { replyOutOfDialog } from "./out-of-dialog.ts";
import { Realms } from "./realms.ts";
import { type CallRecord, type CallSnapshot, snapshotOf } from "./record.ts";
import { RoutedRequest } from "./routed-request.ts";
import { type PhoneBook, Routes } from "./routes.ts";
import { noSessionLimits } from "./session-watch.ts";
import { Subscriptions, subscribes } from "./subscriptions.ts";

/** Takes REGISTERs, and knows the phones that they are from. */
export interface Registrar extends PhoneBook {
  /** A REGISTER, admitted where it is from an agent. */
  register(request: IncomingRequest, realm: RealmConfig, from?: SessionAgent): void;
}

export interface CallManagerParts {
  readonly signalling: Signalling;
  readonly agents: AgentManager;
  readonly router: Router;
  readonly clock: Clock;
  /** 0 inclusive to 1 exclusive. */
  readonly random: () => number;
  readonly log: Logger;
  /** Whether a new request is one too many for the process; default: none is. */
  readonly overload?: { refuses(): boolean };
  /** Without it no REGISTER is taken. */
  readonly registrar?: Registrar;
}

export interface CallManagerConfig {
  readonly realms: readonly RealmConfig[];
  readonly "retry-after": RetryAfterRange;
  readonly "local-response-map"?: LocalResponseMap;
  readonly "header-rules"?: readonly HeaderRuleSet[];
  readonly sessions?: SessionLimits;
}

/** Takes calls in, finds the call a request belongs to, and knows all that are up. */
export class CallManager implements SignallingUser, CallHost {
  readonly counters = new CallCounters();
  readonly signalling: Signalling;
  readonly clock: Clock;
  readonly replies: LocalReplies;
  readonly headerRules: HeaderRules;
  readonly sessionLimits: SessionLimits;
  readonly random: () => number;
  readonly subscriptions: Subscriptions;
  readonly #agents: AgentManager;
  readonly #routes: Routes;
  readonly #log: Logger;
  readonly #registrar: Registrar | undefined;
  readonly #overload: CallManagerParts["overload"];
  readonly #realms: Realms;
  readonly #calls = new Set<Call>();
  readonly #byDialog = new Map<string, Call>();
  /** Dialogs that were up when the engine was lost: it may still hold them when it is back. */
  #orphans: string[] = [];
  #draining = false;
  #whenIdle: (() => void)[] = [];
  #lastId = 0;

  constructor(config: CallManagerConfig, parts: CallManagerParts) {
    this.signalling = parts.signalling;
    this.clock = parts.clock;
    this.random = parts.random;
    this.replies = new LocalReplies(config["retry-after"], parts.random, config["local-response-map"]);
    this.headerRules = new HeaderRules(config["header-rules"] ?? []);
    this.sessionLimits = config.sessions ?? noSessionLimits;
    this.subscriptions = new Subscriptions(this);
    this.#agents = parts.agents;
    this.#routes = new Routes({ ...parts, phones: parts.registrar });
    this.#log = parts.log;
    this.#registrar = parts.registrar;
    this.#overload = parts.overload;
    this.#realms = new Realms(config.realms);
  }

  /** Calls not ended yet. */
  get active(): number {
    return this.#calls.size;
  }

  get draining(): boolean {
    return this.#draining;
  }

  list(): CallSnapshot[] {
    const ahead = wallMinusMonotonic(this.clock);
    return Array.from(this.#calls, (call) => snapshotOf(call.record, call.state, ahead));
  }

  /** New calls are refused from here on. Resolves when the last one that is up has ended. */
  drain(): Promise<void> {
    this.#draining = true;
    if (this.#calls.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  /** Hangs up on every call: BYE to both sides, 503 to callers not yet answered. */
  endAll(): void {
    for (const call of [...this.#calls]) call.abort("shutdown", "draining");
  }

  // What comes from the network.

  invite(request: IncomingRequest): void {
    this.counters.received++;
    const realm = this.#realms.of(request.receivedOn);
    const admission = this.#admit(request, realm);
    if (typeof admission === "string") {
      this.counters.refuse(admission);
      const { headers, source } = request;
      const { "call-id": callId, from, to } = headers;
      this.#log.debug({ "call-id": callId, from, to, source, refusal: admission }, "INVITE refused");
      request.respond(this.replies.for(admission));
      return;
    }
    const leg = new CallerLeg(request);
    const route = this.#routes.of(request, realm, admission.lease?.agent);
    const call = new Call(this, (++this.#lastId).toString(36), leg, route, admission.lease);
    this.#calls.add(call);
    call.start();
  }

  request(request: IncomingRequest): void {
    const dialogId = this.#dialogOf(request);
    const call = this.#byDialog.get(dialogId);
    if (call) call.request(call.sideOf(dialogId), request);
    else if (!this.subscriptions.request(request)) this.#outOfCalls(request);
  }

  ack(ack: IncomingAck): void {
    const call = this.#byDialog.get(ack.dialogId);
    call?.ack(call.sideOf(ack.dialogId), ack);
  }

  dialogEnded(dialogId: string): void {
    const call = this.#byDialog.get(dialogId);
    call?.dialogEnded(call.sideOf(dialogId));
  }

  connected(): void {
    for (const dialogId of this.#orphans) {
      this.signalling.send({ method: "BYE", uri: "", dialogId, headers: {}, body: "" }, unheeded);
    }
    this.#orphans = [];
  }

  disconnected(): void {
    for (const call of [...this.#calls]) {
      if (call.record.answeredAt !== undefined) this.#orphans.push(call.record.callerDialog, call.record.agentDialog);
      call.lost();
    }
    this.subscriptions.lost();
  }

  // What calls ask for.

  adopt(dialogId: string, call: Call): void {
    this.#byDialog.set(dialogId, call);
  }

  /** A caller may use its Call-ID and tag again, as after a challenge, before the call they first made is settled. */
  forget(dialogId: string, call: Call): void {
    if (this.#byDialog.get(dialogId) === call) this.#byDialog.delete(dialogId);
  }

  answered(): void {
    this.counters.answered++;
  }

  ended(call: Call, end: CallEnd, status: number): void {
    this.#calls.delete(call);
    this.counters.ended[end]++;
    this.counters.attempts += call.record.attempts.length;
    this.counters.failovers += Math.max(0, call.record.attempts.length - 1);
    this.#logEnd(call, end, status);
    if (this.#calls.size > 0) return;
    for (const idle of this.#whenIdle.splice(0)) idle();
  }

  /** A request that belongs to no call. */
  #outOfCalls(request: IncomingRequest): void {
    const realm = this.#realms.of(request.receivedOn);
    const agent = this.#agentBehind(request, realm);
    const refusal = this.#refusalOutOfCalls(request, realm, agent);
    if (refusal) request.respond(this.replies.for(refusal));
    else if (request.method === "REGISTER" && this.#registrar) this.#registrar.register(request, realm, agent);
    else this.#relayOutOfCalls(request, realm, agent);
  }

  #relayOutOfCalls(request: IncomingRequest, realm: RealmConfig, agent?: SessionAgent): void {
    const route = this.#routes.ofOther(request, realm, agent);
    const refusal = hopsLeft(request.headers) < 0 ? "too-many-hops" : this.#draining ? "draining" : undefined;
    if (!route) request.respond(replyOutOfDialog(request, this.#draining, this.replies));
    else if (refusal) request.respond(this.replies.for(refusal));
    else if (subscribes(request.method)) this.subscriptions.begin(request, route, agent);
    else {
      const outgoing = (to: Candidate): SentRequest => requestFor(request, to);
      new RoutedRequest(request, route, this, { from: agent, ownCredentials: true, outgoing }).start();
    }
  }

  #refusalOutOfCalls(request: IncomingRequest, realm: RealmConfig, agent?: SessionAgent): LocalCause | undefined {
    const { method, headers } = request;
    if (!agent && realm.allow === "agents") return "unknown-source";
    if (tagOf(headers.to) !== "") return "no-dialog";
    if (method === "REGISTER" && this.#overload?.refuses()) return "cpu-overload";
    const admission = agent?.admit({ direction: "inbound", method, answersChallenge: answersChallenge(headers) });
    if (admission?.admitted === false) return "recv-sa-exc-constraints";
    admission?.lease.release("done");
    return method === "REGISTER" && this.#draining ? "draining" : undefined;
  }

  /** The agent that a request is from. Whatever it asks for is a sign of life: no ping is due (SEMANTICS.md section 4.3). */
  #agentBehind({ source }: IncomingRequest, realm: RealmConfig): SessionAgent | undefined {
    const agent = this.#agents.bySource(source.address, source.port, realm.identifier);
    agent?.touch();
    return agent;
  }

  /** The place of a caller that is an agent itself; or why the INVITE is refused before it is routed. */
  #admit(request: IncomingRequest, realm: RealmConfig): { lease: Lease | undefined } | LocalCause {
    const agent = this.#agentBehind(request, realm);
    if (hopsLeft(request.headers) < 0) return "too-many-hops";
    if (this.#draining) return "draining";
    if (this.#repeatsCall(request)) return "loop";
    // Strangers, who may be what the load comes from, are told nothing else than at other times.
    if (!agent && realm.allow === "agents") return "unknown-source";
    if (this.#overload?.refuses()) return "cpu-overload";
    if (!agent) return { lease: undefined };
    const challenged = answersChallenge(request.headers);
    const admission = agent.admit({ direction: "inbound", method: "INVITE", answersChallenge: challenged });
    return admission.admitted ? { lease: admission.lease } : "recv-sa-exc-constraints";
  }

  /**
   * True for a second call under the Call-ID and From tag of one that is up: their dialogs could not be told apart (compare
   * RFC 3261 section 8.2.2.2). One that was cancelled needs no dialog any more.
   */
  #repeatsCall({ headers }: IncomingRequest): boolean {
    const before = this.#byDialog.get(callersDialog(headers));
    return before !== undefined && before.state !== "cancelled";
  }

  /** drachtio-server names no dialog in requests within an early one. Its caller's tag is in From or, seen from the other side, in To. */
  #dialogOf({ dialogId, headers }: IncomingRequest): string {
    if (this.#byDialog.has(dialogId)) return dialogId;
    const theirs = callersDialog(headers);
    return this.#byDialog.has(theirs) ? theirs : dialogIdOf(headers["call-id"] ?? "", tagOf(headers.to));
  }

  /**
   * The route in short, or whole where the log is to tell much. The policy is that of the last attempt; where there was none
   * the first that matched.
   */
  #whyOf({ route, attempts }: CallRecord): object {
    if (this.#log.isLevelEnabled("debug")) return { route: routeView(route, wallMinusMonotonic(this.clock)) };
    const [hop] = route.hops;
    const skipped = route.passedOver.map(shortOf);
    const policy = attempts.at(-1)?.policy ?? (hop && policyName(hop.order));
    return { ...(policy !== undefined && { policy }), ...(skipped.length > 0 && { skipped }) };
  }

  #logEnd({ record }: Call, end: CallEnd, status: number): void {
    if (!this.#log.isLevelEnabled("info")) return;
    const { caller, agent, attempts, refusal, startedAt, answeredAt } = record;
    const now = this.clock.now();
    this.#log.child({ "call-id": caller.callId, ...(agent !== "" && { agent }) }).info(
      {
        call: record.id,
        from: caller.from,
        to: caller.to,
        end,
        status,
        ...(refusal !== undefined && { refusal }),
        attempts,
        ...this.#whyOf(record),
        setupMs: Math.round((answeredAt ?? now) - startedAt),
        talkMs: answeredAt === undefined ? 0 : Math.round(now - answeredAt),
      },
      "call ended",
    );
  }
}
