/** What is sent again every half second until it is answered, as a datagram may be lost; for half a minute, as RFC 3261 has it. */
export class Repeated {
  #left = 60;
  readonly #timer: NodeJS.Timeout;

  constructor(send: () => void) {
    send();
    this.#timer = setInterval(() => {
      if (this.#left-- > 0) send();
      else this.answered();
    }, 500);
  }

  answered(): void {
    clearInterval(this.#timer);
  }
}
