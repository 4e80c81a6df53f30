import type { Direction } from "./direction.ts";
import type { Lease } from "./lease.ts";
import type { Exceeded } from "./limit.ts";
import type { StateLetter } from "./state.ts";

/** A request on its way to or from an agent, as far as its limits care. */
export interface AdmitRequest {
  readonly direction: Direction;
  /** Upper case. An INVITE that is not `exempt` is a session. */
  readonly method: string;
  /** A re-INVITE or another request in dialog: counted in the method's rate constraint, never refused, takes no place. */
  readonly exempt?: boolean;
  /**
   * Out of dialog, sent again with credentials for a 401 or 407: no rate constraint refuses it and it is no new REGISTER.
   * A session like any other when it is an INVITE.
   */
  readonly answersChallenge?: boolean;
  /**
   * Pass over the hold of a Retry-After. For the last candidates that are still in service, which such a hold must not
   * keep anyone off (SEMANTICS section 8); only routing knows which they are.
   */
  readonly ignoreRetryAfter?: boolean;
}

/** `exceeded` is empty where the state itself refuses (O, S, D). */
export interface Refusal {
  readonly admitted: false;
  readonly state: StateLetter;
  readonly exceeded: readonly Exceeded[];
}

export type Admission = { readonly admitted: true; readonly lease: Lease } | Refusal;

/** What an admission would say now; nothing is taken and nothing is counted. */
export type Room = { readonly admitted: true } | Refusal;
