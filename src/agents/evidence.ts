import type { Ms } from "../clock.ts";
import type { Endpoint } from "../location.ts";

/** Real traffic of ours with the agent, or a ping. */
export type Purpose = "traffic" | "ping";

/** What an out-of-dialog request sent to an agent led to. What our own stack made up is a timeout or a failure here. */
export type Evidence = Observation & {
  /** Which of the addresses of an agent that is known by name. */
  readonly endpoint?: Endpoint;
};

type Observation =
  | {
      /** Off the wire, always; provisional ones too. */
      readonly kind: "response";
      readonly purpose: Purpose;
      readonly status: number;
      /** True for answers to a request that would have made a dialog (INVITE, SUBSCRIBE, REFER out of dialog). */
      readonly createsDialog?: boolean;
      /** Given with the first response to a request alone: when that was sent, on the monotonic clock. */
      readonly sentAt?: Ms;
      /** Seconds, of a 503's Retry-After. */
      readonly retryAfterS?: number;
    }
  /** The transaction's timer ran out, ours or the stack's own 408 (RFC 3261 section 8.1.3.1). */
  | { readonly kind: "timeout"; readonly purpose: Purpose }
  /** Refused, unreachable, TLS handshake, ICMP port unreachable; the stack's own 503. */
  | { readonly kind: "transport-failure"; readonly purpose: Purpose; readonly detail: string }
  /** The agent's name resolves to nothing. */
  | { readonly kind: "name-failure"; readonly purpose: Purpose; readonly detail: string };
