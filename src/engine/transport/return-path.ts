import type { FailureListener, Flow } from "./transport.ts";

/**
 * The way back of the responses to a request that came over a stream: the same connection, or, when that is gone by the time
 * a response is ready, a new one to where the request's Via says (RFC 3261 section 18.2.2).
 */
export class ReturnPath implements Flow {
  readonly protocol;
  readonly reliable = true;
  readonly localAddress;
  readonly localPort;
  readonly remoteAddress;
  readonly remotePort;
  readonly #first: Flow;
  readonly #isOpen: () => boolean;
  readonly #reconnect: () => Flow | undefined;

  constructor(first: Flow, isOpen: () => boolean, reconnect: () => Flow | undefined) {
    this.protocol = first.protocol;
    this.localAddress = first.localAddress;
    this.localPort = first.localPort;
    this.remoteAddress = first.remoteAddress;
    this.remotePort = first.remotePort;
    this.#first = first;
    this.#isOpen = isOpen;
    this.#reconnect = reconnect;
  }

  send(text: string): void {
    const path = this.#isOpen() ? this.#first : this.#reconnect();
    path?.send(text);
  }

  onFailure(listener: FailureListener): () => void {
    return this.#first.onFailure(listener);
  }
}
