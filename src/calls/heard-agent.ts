import type { SessionAgent } from "../agents/session-agent.ts";
import type { Ms } from "../clock.ts";
import type { ExchangeUser, IncomingResponse, Outcome } from "../signalling/port.ts";

/**
 * Stands between a request within a dialog and whoever sent it, and tells the agent there of every response: whatever it
 * says, it is a sign of life (SEMANTICS.md sections 4.1 and 4.3). Silence within a dialog is the dialog's affair.
 */
class HeardAgent implements ExchangeUser {
  readonly #agent: SessionAgent;
  readonly #user: ExchangeUser;
  /** Until the first response. */
  #sentAt: Ms | undefined;

  constructor(agent: SessionAgent, user: ExchangeUser) {
    this.#agent = agent;
    this.#user = user;
    this.#sentAt = agent.touch();
  }

  sent(callId: string, uri: string): void {
    this.#user.sent?.(callId, uri);
  }

  provisional(response: IncomingResponse): void {
    this.#heard(response);
    this.#user.provisional(response);
  }

  final(outcome: Outcome): void {
    if (outcome.kind === "response") this.#heard(outcome.response);
    this.#user.final(outcome);
  }

  #heard({ status }: IncomingResponse): void {
    const heard = { kind: "response", purpose: "traffic", status } as const;
    this.#agent.observe(this.#sentAt === undefined ? heard : { ...heard, sentAt: this.#sentAt });
    this.#sentAt = undefined;
  }
}

/** `user` for a request that is sent to the agent now; undefined stands for a peer that is no agent. */
export function heardFrom(agent: SessionAgent | undefined, user: ExchangeUser): ExchangeUser {
  return agent ? new HeardAgent(agent, user) : user;
}
