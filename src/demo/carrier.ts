import type { Clock, Ms, Timer } from "../clock.ts";
import type { IncomingRequest, SignallingUser } from "../signalling/port.ts";
import { accept, reply } from "./replies.ts";

/** How a carrier treats the calls it is sent. */
export interface Manner {
  /** From the INVITE to the 180. */
  readonly postDialDelay: Ms;
  /** From the 180 to the 200, on average: half of it to half as much again. */
  readonly ringing: Ms;
  /** Share of the calls, 0 to 1, that it refuses with 503. */
  readonly refused: number;
}

/** A carrier: it rings and answers, and leaves it to the caller to hang up. */
export class DemoCarrier implements SignallingUser {
  readonly #manner: Manner;
  readonly #clock: Clock;
  readonly #random: () => number;

  constructor(manner: Manner, deps: { readonly clock: Clock; readonly random: () => number }) {
    this.#manner = manner;
    this.#clock = deps.clock;
    this.#random = deps.random;
  }

  invite(request: IncomingRequest): void {
    const { postDialDelay, ringing, refused } = this.#manner;
    if (this.#random() < refused) {
      reply(request, 503, "Service Unavailable");
      return;
    }
    let next: Timer = this.#clock.after(postDialDelay, () => {
      reply(request, 180, "Ringing");
      next = this.#clock.after(ringing * (0.5 + this.#random()), () => accept(request));
    });
    request.onCancel = () => next.cancel();
  }

  /** BYE and OPTIONS; a carrier of the demo agrees to everything else too. */
  request(request: IncomingRequest): void {
    reply(request, 200, "OK");
  }

  ack(): void {}
  dialogEnded(): void {}
  connected(): void {}
  disconnected(): void {}
}
