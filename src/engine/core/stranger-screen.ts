import type { SipMessage } from "../message/sip-message.ts";
import type { Flow, Target } from "../transport/transport.ts";

/** A listener that is deaf to strangers. */
export interface ClosedListener extends Target {
  /** Numeric addresses whose requests are heard. */
  readonly sources: readonly string[];
}

/** Drops requests of strangers on closed listeners before anything is answered, 100 included. */
export class StrangerScreen {
  readonly #sources = new Map<string, ReadonlySet<string>>();

  constructor(closed: readonly ClosedListener[]) {
    for (const listener of closed) {
      this.#sources.set(keyOf(listener.protocol, listener.address, listener.port), new Set(listener.sources));
    }
  }

  /** `inDialog` is asked only of strangers: a dialog's path may have led through others. */
  drops(message: SipMessage, flow: Flow, inDialog: (request: SipMessage) => boolean): boolean {
    if (this.#sources.size === 0 || !message.isRequest) return false;
    const sources = this.#sources.get(keyOf(flow.protocol, flow.localAddress, flow.localPort));
    return sources !== undefined && !sources.has(flow.remoteAddress) && !inDialog(message);
  }
}

const keyOf = (protocol: string, address: string, port: number): string => `${protocol} ${address} ${port}`;
