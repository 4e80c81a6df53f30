import type { Endpoint } from "./loopback.ts";
import { RawUa } from "./raw-ua.ts";
import { RawCall, responseTo, type SipText } from "./sip-text.ts";

interface Request {
  readonly method: string;
  /** Milliseconds, as `performance.now`. */
  readonly at: number;
  readonly message: SipText;
}

/** An agent whose behaviour the test changes as it runs, and which remembers what it was asked and when. */
export class Trunk {
  /** The final status by method; 200 where nothing is said, 0 for silence. */
  readonly answers: Record<string, number> = {};
  /** What came in, repetitions left out. */
  readonly requests: Request[] = [];
  readonly #seen = new Set<string>();
  #ua: RawUa | undefined;

  private constructor(readonly local: Endpoint) {}

  static async at(local: Endpoint, answers: Readonly<Record<string, number>> = {}): Promise<Trunk> {
    const trunk = new Trunk(local);
    Object.assign(trunk.answers, answers);
    await trunk.open();
    return trunk;
  }

  async open(): Promise<void> {
    this.#ua = await RawUa.open(this.local, ({ message, from }, ua) => {
      if (message.status || message.method === "ACK") return;
      this.#remember(message);
      const status = this.answers[message.method] ?? 200;
      if (status > 0) ua.send(responseTo(message, status, "As Told", this.local), from);
    });
  }

  /** The port is closed from now on: whoever sends to it is told so by ICMP. */
  close(): void {
    this.#ua?.close();
    this.#ua = undefined;
  }

  /** Sends a request of its own outside any dialog. */
  ask(method: string, to: Endpoint, number = "100"): void {
    const call = new RawCall(this.local, to, number);
    this.#ua?.send(
      call
        .invite()
        .replace(/^INVITE/, method)
        .replace("CSeq: 1 INVITE", `CSeq: 1 ${method}`),
      to,
    );
  }

  /** Final statuses of its own requests of this method. */
  heard(method: string): number[] {
    const messages = (this.#ua?.received ?? []).map(({ message }) => message);
    return messages.filter((message) => message.status >= 200 && message.method === method).map(({ status }) => status);
  }

  /** How many requests of this method came since. */
  count(method: string, since = 0): number {
    return this.times(method, since).length;
  }

  times(method: string, since = 0): number[] {
    return this.requests.filter((request) => request.method === method && request.at >= since).map(({ at }) => at);
  }

  #remember(message: SipText): void {
    const { method } = message;
    const key = `${method} ${/branch=([^;\s]+)/.exec(message.header("Via"))?.[1]}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.requests.push({ method, at: performance.now(), message });
  }
}
