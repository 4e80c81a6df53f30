import type { Pinger, PingOutcome, PingRequest } from "../agents/pinger.ts";
import { hopOfAgent, routeTo } from "./next-hop.ts";
import {
  type Exchange,
  type ExchangeUser,
  type IncomingResponse,
  type Outcome,
  type OutgoingRequest,
  type Signalling,
  unheeded,
} from "./port.ts";

/** Pings agents by SIP requests outside any dialog, at their own address and over their own transport. */
export class SipPinger implements Pinger {
  readonly #signalling: Signalling;
  readonly #open = new Set<Ping>();

  constructor(signalling: Signalling) {
    this.#signalling = signalling;
    // With the engine go all transactions, and nothing more is heard of them: no fault of the agents.
    signalling.whenLost(() => {
      for (const ping of [...this.#open]) ping.end({ kind: "not-sent" });
    });
  }

  ping(request: PingRequest, done: (outcome: PingOutcome) => void): void {
    const ping = new Ping(this.#signalling, (outcome) => {
      this.#open.delete(ping);
      done(outcome);
    });
    this.#open.add(ping);
    ping.send(requestOf(request));
  }
}

/** From and To name no user unless the parameters do; the engine puts its own address for `localhost`. */
function requestOf({ params, endpoint, method, maxForwards }: PingRequest): OutgoingRequest {
  const hop = hopOfAgent(params, endpoint);
  const { address, transport } = hop;
  const to = `sip:${at(params["ping-to-user-part"])}${address}`;
  const headers = {
    from: `<sip:${at(params["ping-from-user-part"])}localhost>`,
    to: `<${to}>`,
    "max-forwards": String(maxForwards),
  };
  return {
    method,
    uri: `${to}${transport}`,
    ...routeTo(hop),
    dialogId: "",
    headers,
    body: "",
  };
}

const at = (user: string): string => (user === "" ? "" : `${user}@`);

class Ping implements ExchangeUser {
  readonly #signalling: Signalling;
  readonly #done: (outcome: PingOutcome) => void;
  #exchange: Exchange | undefined;
  #invites = false;
  #over = false;

  constructor(signalling: Signalling, done: (outcome: PingOutcome) => void) {
    this.#signalling = signalling;
    this.#done = done;
  }

  send(request: OutgoingRequest): void {
    this.#invites = request.method === "INVITE";
    this.#exchange = this.#signalling.send(request, this);
  }

  /** A ping must not ring for long: that it is worked on is all it wants to know. */
  provisional(_: IncomingResponse): void {
    if (this.#invites) this.#exchange?.cancel();
  }

  final(outcome: Outcome): void {
    if (outcome.kind === "response") this.#leave(outcome.response);
    this.end(pingOutcomeOf(outcome));
  }

  end(outcome: PingOutcome): void {
    if (this.#over) return;
    this.#over = true;
    this.#done(outcome);
  }

  /** An INVITE that was answered is hung up on (RFC 3261 section 13.2.2.4). */
  #leave(response: IncomingResponse): void {
    if (!this.#invites || response.status >= 300) return;
    response.ack();
    const { dialogId } = response;
    const bye = { method: "BYE", uri: "", dialogId, headers: {}, body: "" };
    this.#signalling.send(bye, unheeded);
  }
}

function pingOutcomeOf(outcome: Outcome): PingOutcome {
  switch (outcome.kind) {
    case "response":
      return { kind: "response", status: outcome.response.status };
    case "transport-failure":
      return { kind: outcome.unresolved ? "name-failure" : "transport-failure", detail: outcome.detail };
    case "refused":
      // Without an engine nothing can be said of the agent; whatever else keeps a ping from being sent is between us and it.
      return outcome.cause === "disconnected"
        ? { kind: "not-sent" }
        : { kind: "transport-failure", detail: outcome.detail };
    case "timeout":
      return outcome;
  }
}
