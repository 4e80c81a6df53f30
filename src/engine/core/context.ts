import type { Clock } from "../../clock.ts";
import type { TimerValues } from "../transaction/timers.ts";
import type { TransactionLayer } from "../transaction/transaction-layer.ts";
import type { AppRegistry } from "./app-registry.ts";
import type { CoreCounters } from "./counters.ts";
import type { EngineDialogs } from "./engine-dialog.ts";
import type { FrameWriter } from "./frame-writer.ts";
import type { IncomingRequests } from "./incoming-request.ts";
import type { OutgoingRequest } from "./outgoing-request.ts";
import type { PlainRequest } from "./plain-request.ts";
import type { Undelivered } from "./undelivered.ts";
import type { WayOut } from "./way-out.ts";

/** What the engine wants to tell its operator. */
export interface EngineLog {
  warn(detail: object, message: string): void;
  debug(detail: object, message: string): void;
}

/** What the parts of the core share. */
export interface CoreContext {
  readonly clock: Clock;
  readonly timers: TimerValues;
  readonly log: EngineLog;
  readonly undelivered: Undelivered;
  readonly counters: CoreCounters;
  readonly frames: FrameWriter;
  readonly layer: TransactionLayer;
  readonly way: WayOut;
  readonly apps: AppRegistry;
  readonly dialogs: EngineDialogs;
  /** Requests from the network that wait for an application's final response. */
  readonly incoming: IncomingRequests;
  /** Requests of applications without final response, by transaction id. */
  readonly outgoing: Map<string, OutgoingRequest>;
  /** SUBSCRIBE and REFER requests under way, by the id of the dialog they may begin. */
  readonly subscribing: Map<string, PlainRequest>;
  /** Request-URIs of the INVITEs under way whose Call-ID the engine made, by Call-ID: an INVITE with both has come round. */
  readonly ownInvites: Map<string, string>;
}
