import type { Clock } from "../clock.ts";
import type { SessionLimits } from "../config/config.ts";
import type { Signalling } from "../signalling/port.ts";
import type { Call } from "./call.ts";
import type { HeaderRules } from "./header-rules.ts";
import type { LocalReplies } from "./local-responses.ts";

/** Why a call ended, for its log line and the counters. */
export type CallEnd =
  | "caller-bye"
  | "agent-bye"
  | "cancelled"
  | "rejected"
  | "no-ack"
  | "dialog-gone"
  | "session-expired"
  | "life-limit"
  | "shutdown"
  | "link-lost";

/** What a call needs around it. */
export interface CallHost {
  readonly signalling: Signalling;
  readonly clock: Clock;
  readonly replies: LocalReplies;
  readonly headerRules: HeaderRules;
  readonly sessionLimits: SessionLimits;
  /** 0 inclusive to 1 exclusive. */
  readonly random: () => number;
  /** From now on requests within this dialog are the call's. */
  adopt(dialogId: string, call: Call): void;
  forget(dialogId: string, call: Call): void;
  answered(call: Call): void;
  /** `status`: the caller's final response, 0 when there was none from us. */
  ended(call: Call, end: CallEnd, status: number): void;
}
