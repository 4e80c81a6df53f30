import type { Ms } from "../clock.ts";
import type { Endpoint } from "../location.ts";
import type { AgentParams } from "./params.ts";

/** How a ping went. What our own stack made up is a timeout or a failure, never a response. */
export type PingOutcome =
  /** The final response, off the wire. */
  | { readonly kind: "response"; readonly status: number }
  | { readonly kind: "timeout" }
  | { readonly kind: "transport-failure"; readonly detail: string }
  | { readonly kind: "name-failure"; readonly detail: string }
  /** It never left, or its end will never be known, for want of a signalling engine: no news of the agent. */
  | { readonly kind: "not-sent" };

export interface PingRequest {
  /** The agent's parameters at this moment: where it is, and which user parts to write. */
  readonly params: AgentParams;
  /** Which of its addresses, where it has more than the parameters tell. */
  readonly endpoint?: Endpoint;
  readonly method: string;
  /** Low enough that only the next hop answers (SEMANTICS section 4.3). */
  readonly maxForwards: number;
  /** Milliseconds; 0 = the transaction's own timer F. The caller of `ping` keeps this time itself: it is there to free resources. */
  readonly timeoutMs: Ms;
}

/** Sends pings. The port through which `agents/` reaches the network. */
export interface Pinger {
  /** Sends one ping, at once, and calls `done` when it has come to its end; never before it returns. Must not throw. */
  ping(request: PingRequest, done: (outcome: PingOutcome) => void): void;
}

/** `ping-method` is a SIP method with an optional `;hops=N`; without it 0, as a hop further on must not answer. */
export function readPingMethod(text: string): { readonly method: string; readonly maxForwards: number } {
  const [method = "", ...options] = text.split(";").map((part) => part.trim());
  const hops = options
    .map((option) => /^hops\s*=\s*(\d{1,3})$/i.exec(option)?.[1])
    .find((digits) => digits !== undefined);
  return { method: method.toUpperCase(), maxForwards: hops === undefined ? 0 : Math.min(255, Number(hops)) };
}
