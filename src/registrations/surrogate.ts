import type { AgentParams, SurrogateParams } from "../agents/params.ts";
import type { SessionAgent } from "../agents/session-agent.ts";
import { type Sending, Witness } from "../calls/witness.ts";
import type { Clock, Ms, Timer } from "../clock.ts";
import { hostPort, parseUri, type SipUri } from "../signalling/addresses.ts";
import { hopOfAgent, routeTo } from "../signalling/next-hop.ts";
import {
  type ExchangeUser,
  type IncomingResponse,
  type Outcome,
  type Signalling,
  unheeded,
} from "../signalling/port.ts";
import { readContacts } from "../signalling/registration.ts";

export interface SurrogateParts {
  readonly signalling: Signalling;
  readonly clock: Clock;
  /** 0 inclusive to 1 exclusive. */
  readonly random: () => number;
  readonly log: { warn(detail: object, message: string): void };
}

/** How a surrogate registration stands, as /v1/registrations shows it. */
export interface SurrogateSnapshot {
  readonly agent: string;
  readonly aor: string;
  readonly registered: boolean;
  /** ISO 8601; null while there is none. */
  readonly expires: string | null;
  /** REGISTERs in a row that brought no registration. */
  readonly failures: number;
  /** What the last of them came to; null after a success. */
  readonly failure: string | null;
}

/** The pause after a failure doubles up to so many times the first. */
const maxBackOff = 32;

/** Seconds; more is a mistake of the registrar's. */
const longestExpires = 86_400;
const longestPause = 3_600;

/** A refresh is due at this share of the life that was granted, less a tenth at random. */
const refreshAt = 0.85;

/** Registers us with one agent, refreshes that before it expires, and tells the agent whether it holds. */
export class SurrogateRegistration {
  readonly #agent: SessionAgent;
  readonly #params: SurrogateParams;
  readonly #parts: SurrogateParts;
  readonly #aor: SipUri;
  readonly #callId: string;
  #cseq = 0;
  /** Seconds asked for: more than configured once the registrar has said that it takes no less. */
  #expires: number;
  #validUntil: Ms = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #failure: string | null = null;
  #pending: ExchangeUser | undefined;
  #next: Timer | undefined;
  #end: Timer | undefined;

  constructor(agent: SessionAgent, params: SurrogateParams, parts: SurrogateParts) {
    this.#agent = agent;
    this.#params = params;
    this.#parts = parts;
    this.#aor = aorOf(params, agent.params);
    this.#expires = params.expires;
    this.#callId = `${Math.floor(parts.random() * 2 ** 48).toString(36)}${parts.clock.date().toString(36)}@weir`;
  }

  /** Many agents do not all ask at once. */
  start(): void {
    this.#next = this.#parts.clock.after(this.#parts.random() * 500, () => this.#send());
  }

  /** Sends no more; a registration that holds is taken back, as far as one request can. True when there was one. */
  stop(): boolean {
    this.#next?.cancel();
    this.#end?.cancel();
    this.#pending = undefined;
    const registered = this.#validUntil > this.#parts.clock.now();
    if (registered) this.#register(0, unheeded);
    this.#validUntil = Number.NEGATIVE_INFINITY;
    return registered;
  }

  /** The engine is gone, and with it what was under way. */
  lost(): void {
    if (!this.#pending) return;
    this.#pending = undefined;
    this.#failed("disconnected");
  }

  snapshot(wallMinusMonotonic: Ms): SurrogateSnapshot {
    const registered = this.#validUntil > this.#parts.clock.now();
    return {
      agent: this.#agent.hostname,
      aor: `${this.#aor.user}@${this.#aor.host}`,
      registered,
      expires: registered ? new Date(this.#validUntil + wallMinusMonotonic).toISOString() : null,
      failures: this.#failures,
      failure: this.#failure,
    };
  }

  #send(): void {
    this.#next = undefined;
    const register: ExchangeUser = {
      provisional() {},
      final: (outcome) => {
        // An answer that the engine's end, or ours, has overtaken.
        if (this.#pending !== register) return;
        this.#pending = undefined;
        this.#ended(outcome);
      },
    };
    this.#pending = register;
    this.#register(this.#expires, register);
  }

  #register(expires: number, user: ExchangeUser): void {
    const { random, signalling } = this.#parts;
    const agent = this.#agent;
    // Counted, and never refused: without it the agent would stay out of service.
    const admission = agent.admit({ direction: "outbound", method: "REGISTER", exempt: true });
    if (admission.admitted) admission.lease.release("done");
    const [endpoint] = agent.route(random);
    const hop = hopOfAgent(agent.params, endpoint);
    const aor = `<${this.#aor.toString()}>`;
    const headers = {
      from: aor,
      to: aor,
      contact: `<sip:${this.#contactUser}@localhost${hop.transport}>`,
      expires: String(expires),
      "call-id": this.#callId,
      cseq: `${++this.#cseq} REGISTER`,
    };
    const way = { nextHop: `sip:${hop.address}${hop.transport}`, ...routeTo(hop), peer: agent.hostname };
    const uri = `sip:${hostPort(this.#aor.host, this.#aor.port)}${hop.transport}`;
    const heard = heardBy(agent, user, { endpoint, sentAt: this.#parts.clock.now() });
    signalling.send({ method: "REGISTER", uri, ...way, dialogId: "", headers, body: "" }, heard);
  }

  get #contactUser(): string {
    return this.#params["contact-user"] || this.#aor.user;
  }

  #ended(outcome: Outcome): void {
    if (outcome.kind !== "response") {
      this.#failed(outcome.kind === "refused" ? outcome.cause : outcome.kind);
      return;
    }
    const { status, headers } = outcome.response;
    // Credentials have moved it on.
    this.#cseq = Math.max(this.#cseq, Number.parseInt(headers.cseq ?? "", 10) || 0);
    const minimum = Number.parseInt(headers["min-expires"] ?? "", 10);
    if (status < 300) this.#granted(outcome.response);
    else if (status === 423 && minimum > this.#expires) {
      this.#expires = Math.min(minimum, longestExpires);
      this.#send();
    } else this.#failed(String(status), status, Number.parseInt(headers["retry-after"] ?? "", 10));
  }

  #granted(response: IncomingResponse): void {
    const { clock, random } = this.#parts;
    const own = readContacts(response.headers)?.find(({ uri }) => uri.user === this.#contactUser);
    const said = Number.parseInt(response.headers.expires ?? "", 10);
    const seconds = own?.expires ?? (Number.isNaN(said) ? this.#expires : said);
    this.#failures = 0;
    this.#failure = null;
    this.#validUntil = clock.now() + seconds * 1_000;
    this.#agent.setRegistered(true, response.status);
    this.#end?.cancel();
    this.#end = clock.after(seconds * 1_000, () => this.#agent.setRegistered(false));
    this.#next = clock.after(seconds * 1_000 * (refreshAt - random() / 10), () => this.#send());
  }

  /** What was granted before holds until it expires. `retryAfter`: seconds, NaN where the registrar does not say. */
  #failed(failure: string, status?: number, retryAfter = Number.NaN): void {
    const { clock, random, log } = this.#parts;
    const factor = Math.min(2 ** this.#failures, maxBackOff);
    const pause = this.#params["retry-interval"] * factor * (1 - random() / 2);
    this.#failures++;
    this.#failure = failure;
    const seconds = Number.isNaN(retryAfter) ? pause : Math.max(pause, Math.min(retryAfter, longestPause));
    const registered = this.#validUntil > clock.now();
    if (!registered) this.#agent.setRegistered(false, status);
    log.warn({ agent: this.#agent.hostname, failure, registered, retryS: Math.round(seconds) }, "not registered");
    this.#next = clock.after(seconds * 1_000, () => this.#send());
  }
}

function heardBy(agent: SessionAgent, user: ExchangeUser, sent: Omit<Sending, "agent">): ExchangeUser {
  const witness = new Witness({ agent, ...sent });
  return {
    provisional: (response) => witness.response(response),
    final(outcome) {
      witness.final(outcome);
      user.final(outcome);
    },
  };
}

function aorOf({ aor }: SurrogateParams, agent: AgentParams): SipUri {
  const scheme = /^sips?:/i.test(aor) ? "" : "sip:";
  const uri = parseUri(`${scheme}${aor}${aor.includes("@") ? "" : `@${hopOfAgent(agent).address}`}`);
  // The configuration was checked: one that is none is a defect.
  if (!uri) throw new TypeError(`no address of record: ${aor}`);
  return uri;
}
