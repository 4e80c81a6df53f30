import type { Socket } from "node:net";
import { SipText } from "./sip-text.ts";

/** One connection, over TCP or TLS, that messages come over, cut out by their Content-Length. */
export class SipStream<Connection extends Socket = Socket> {
  readonly received: SipText[] = [];
  error = "";
  closed = false;
  #rest = "";

  constructor(
    readonly socket: Connection,
    react: (message: SipText, stream: SipStream<Connection>) => void = () => undefined,
  ) {
    socket.on("data", (bytes) => {
      this.#rest += bytes.toString("latin1");
      for (let message = this.#next(); message; message = this.#next()) {
        this.received.push(message);
        react(message, this);
      }
    });
    socket.on("error", ({ message }) => {
      this.error = message;
    });
    socket.on("close", () => {
      this.closed = true;
    });
  }

  send(text: string): void {
    this.socket.write(text, "latin1");
  }

  #next(): SipText | undefined {
    const end = this.#rest.indexOf("\r\n\r\n") + 4;
    const length = end < 4 ? 0 : Number(new SipText(this.#rest.slice(0, end)).header("Content-Length"));
    if (end < 4 || this.#rest.length < end + length) return undefined;
    const text = this.#rest.slice(0, end + length);
    this.#rest = this.#rest.slice(end + length);
    return new SipText(text);
  }
}
