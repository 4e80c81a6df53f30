import type { Clock, Ms, Timer } from "../clock.ts";
import type { RawSrf } from "./raw-srf.ts";

/** Pause between two pings. */
const pause: Ms = 5_000;

/** Pings without an answer after which nobody is taken to be there. */
const enough = 3;

/**
 * Pings the engine at the other end of a TCP link, and ends a link that is silent: of a machine that has gone, or of a process
 * that stands still, TCP itself tells after a quarter of an hour or never.
 */
export class LinkWatch {
  readonly #srf: RawSrf;
  readonly #clock: Clock;
  #next: Timer | undefined;

  constructor(srf: RawSrf, clock: Clock) {
    this.#srf = srf;
    this.#clock = clock;
    // drachtio-srf forgets it when it connects again, and small frames would then wait for one another.
    srf.on("connect", () => {
      for (const socket of srf._app.client.mapServer.keys()) socket.setNoDelay(true);
    });
    this.#goOn();
  }

  stop(): void {
    this.#next?.cancel();
  }

  #goOn(): void {
    this.#next = this.#clock.after(pause, () => {
      this.#look();
      this.#goOn();
    });
  }

  #look(): void {
    const { mapServer, wp } = this.#srf._app.client;
    for (const [socket, { pendingPingRequests }] of mapServer) {
      if (pendingPingRequests.size < enough) pendingPingRequests.add(wp.send(socket, "ping"));
      else if (!socket.destroyed) socket.destroy(new Error(`${enough} pings without an answer`));
    }
  }
}
