/** What is sent again every half second until it is answered, as a datagram may be lost; ten times at most. */
export class Repeated {
  #left = 10;
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
