import type { Clock, Ms } from "../../clock.ts";
import type { EngineLog } from "./context.ts";

/** A peer that cannot be reached is told once a minute; what else fails towards it meanwhile, pings above all, is detail. */
const quietTime: Ms = 60_000;
/** Peers remembered; the one told longest ago is forgotten first. */
const maxPeers = 1_000;

export interface UndeliveredRequest {
  /** Such as `udp://192.0.2.1:5060`. */
  readonly peer: string;
  readonly method: string;
  readonly "call-id": string;
  readonly reason: string;
}

/** Tells of requests that could not be delivered, without flooding the log while a peer is down. */
export class Undelivered {
  readonly #clock: Clock;
  readonly #log: EngineLog;
  /** When each peer was last told of, in that order. */
  readonly #told = new Map<string, Ms>();

  constructor(clock: Clock, log: EngineLog) {
    this.#clock = clock;
    this.#log = log;
  }

  tell(request: UndeliveredRequest): void {
    const now = this.#clock.now();
    const last = this.#told.get(request.peer);
    if (last !== undefined && now - last < quietTime) {
      this.#log.debug(request, "request not delivered");
      return;
    }
    this.#told.delete(request.peer);
    this.#told.set(request.peer, now);
    if (this.#told.size > maxPeers) this.#told.delete(this.#told.keys().next().value ?? "");
    this.#log.warn(request, "request not delivered");
  }
}
