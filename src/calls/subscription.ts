import { randomUUID } from "node:crypto";
import type { SessionAgent } from "../agents/session-agent.ts";
import type { Timer } from "../clock.ts";
import { ownText } from "../own-text.ts";
import { dialogIdOf, type IncomingRequest, type IncomingResponse } from "../signalling/port.ts";
import { otherSide } from "./call-legs.ts";
import { isGone } from "./dialog-relay.ts";
import { hopsLeft, relayedRequestHeaders, requestFor, type SentRequest } from "./headers.ts";
import { heardFrom } from "./heard-agent.ts";
import type { Candidate } from "./next-hop.ts";
import type { Side } from "./record.ts";
import { RelayedRequest } from "./relay.ts";
import type { CallRoute } from "./route.ts";
import { RoutedRequest, type RoutedRequestParts } from "./routed-request.ts";

/** Who keeps subscriptions by the dialogs that they are made of. */
export interface SubscriptionKeeper {
  adopt(dialogId: string, subscription: Subscription): void;
  /** Nothing happens where another subscription has the dialog by now. */
  forget(dialogId: string, subscription: Subscription): void;
}

/** Seconds: what a subscription lasts that neither side has given a time (RFC 3856 section 6.4), and the longest. */
const defaultExpires = 3_600;
const longestExpires = 86_400;
/** Milliseconds that the last NOTIFY may take. */
const lastNotify = 32_000;
/** Requests of the notifier kept until its 2xx is passed back. */
const maxHeld = 4;

/**
 * A subscription that passes through us (RFC 6665): SUBSCRIBE, or REFER by implication, makes a dialog with either side, and
 * what follows passes from one to the other. It takes no place at an agent. It is soft state: over with the last NOTIFY, with
 * an answer that says so, or when its time is.
 */
export class Subscription {
  readonly #keeper: SubscriptionKeeper;
  readonly #parts: RoutedRequestParts;
  readonly #agents: Record<Side, SessionAgent | undefined>;
  readonly #dialogs: Record<Side, string>;
  /** What the notifier asked before it was sure that the subscriber knows the dialog; undefined from then on. */
  #held: IncomingRequest[] | undefined = [];
  #expiry: Timer | undefined;
  #over = false;

  /** `from`: the agent that the request is from, where it is from one. */
  constructor(keeper: SubscriptionKeeper, parts: RoutedRequestParts, callerDialog: string, from?: SessionAgent) {
    this.#keeper = keeper;
    this.#parts = parts;
    this.#agents = { caller: from, agent: undefined };
    this.#dialogs = { caller: ownText(callerDialog), agent: "" };
  }

  /** Asks for it. The request is not kept: a subscription outlives its messages. */
  start(request: IncomingRequest, route: CallRoute): void {
    this.#keeper.adopt(this.#dialogs.caller, this);
    new RoutedRequest(request, route, this.#parts, {
      from: this.#agents.caller,
      ownCredentials: true,
      createsDialog: true,
      outgoing: (to) => this.#outgoing(request, to),
      answered: (response) => this.#answered(request, response),
      ended: (status) => {
        if (status < 300 && this.#expiry) this.#begin();
        else this.end();
      },
    }).start();
  }

  /** A request within one of its dialogs. */
  request(request: IncomingRequest): void {
    const from: Side = request.dialogId === this.#dialogs.caller ? "caller" : "agent";
    this.#agents[from]?.touch();
    if (hopsLeft(request.headers) < 0) request.respond(this.#parts.replies.for("too-many-hops"));
    else if (!this.#held) this.#relay(from, request);
    else if (from === "agent" && this.#held.length < maxHeld) this.#held.push(request);
    else request.respond(this.#parts.replies.for("overlapping"));
  }

  /** What is under way within it is still answered, and changes nothing any more. */
  end(): void {
    this.#over = true;
    this.#expiry?.cancel();
    this.#keeper.forget(this.#dialogs.caller, this);
    this.#leaveAgent();
  }

  /** The dialog with the agent, and what it has asked in it. */
  #leaveAgent(): void {
    this.#keeper.forget(this.#dialogs.agent, this);
    for (const request of this.#held?.splice(0) ?? []) request.respond(this.#parts.replies.for("no-dialog"));
  }

  /** Call-ID and tag are ours, so that a NOTIFY which overtakes the answer is known (RFC 6665 section 4.1.2.4). */
  #outgoing(asked: IncomingRequest, to: Candidate): SentRequest {
    const request = requestFor(asked, to);
    const { headers } = request;
    const callId = randomUUID();
    const tag = randomUUID();
    headers["call-id"] = callId;
    headers.from = `${headers.from};tag=${tag}`;
    this.#leaveAgent();
    this.#agents.agent = to.agent;
    this.#dialogs.agent = dialogIdOf(callId, tag);
    this.#keeper.adopt(this.#dialogs.agent, this);
    return request;
  }

  /** RFC 4488: a REFER may be granted without a subscription. */
  #answered(asked: IncomingRequest, { status, headers }: IncomingResponse): void {
    if (status >= 300 || headers["refer-sub"]?.trim().toLowerCase() === "false") return;
    this.#lastFor(headers.expires ?? asked.headers.expires);
  }

  /** The subscriber has its 2xx. */
  #begin(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const request of held) this.#relay("agent", request);
  }

  #lastFor(expires: string | undefined): void {
    if (this.#over) return;
    const said = Number.parseInt(expires ?? "", 10);
    const seconds = Number.isNaN(said) ? defaultExpires : Math.min(said, longestExpires);
    this.#expiry?.cancel();
    this.#expiry = this.#parts.clock.after(seconds * 1_000 + lastNotify, () => this.end());
  }

  #relay(from: Side, request: IncomingRequest): void {
    const { signalling, headerRules, replies } = this.#parts;
    const { method, body } = request;
    const to = otherSide(from);
    const headers = relayedRequestHeaders(request.headers);
    const lasts = !/^\s*terminated/i.test(headers["subscription-state"] ?? "");
    const [sender, receiver] = [this.#agents[from], this.#agents[to]];
    headerRules.apply(headers, "requests", sender, receiver);
    let granted: string | undefined;
    const treat = (reply: Record<string, string>): void => {
      granted = reply.expires ?? request.headers.expires;
      headerRules.apply(reply, "responses", receiver, sender);
    };
    const user = new RelayedRequest(request, { replies, treat }, ({ status }) => {
      if (isOver(method, status, lasts)) this.end();
      else if (method === "SUBSCRIBE" && status < 300) this.#lastFor(granted);
    });
    const dialogId = this.#dialogs[to];
    const sent = { method, uri: "", peer: receiver?.hostname, dialogId, headers, body };
    signalling.send(sent, heardFrom(receiver, user));
  }
}

/** The last NOTIFY, or an answer that says that the other side knows the subscription no more (RFC 6665 sections 4.1.2 and 4.2.2). */
function isOver(method: string, status: number, lasts: boolean): boolean {
  if (method !== "NOTIFY" && method !== "SUBSCRIBE") return false;
  return isGone(status) || (method === "NOTIFY" && !lasts);
}
