import type { Endpoint } from "./loopback.ts";
import { type Arrival, RawUa } from "./raw-ua.ts";
import { SipText } from "./sip-text.ts";

/**
 * A stateless proxy between phones and `next` that stays on the path of registrations and of dialogs. What is to come back
 * to a phone names in the user part of the proxy's own URI where that phone is (RFC 3327, RFC 5626 section 5.2).
 */
export class EdgeProxy {
  readonly local: Endpoint;
  readonly #next: Endpoint;
  #ua: RawUa | undefined;

  private constructor(local: Endpoint, next: Endpoint) {
    this.local = local;
    this.#next = next;
  }

  static async at(local: Endpoint, next: Endpoint): Promise<EdgeProxy> {
    const proxy = new EdgeProxy(local, next);
    proxy.#ua = await RawUa.open(local, (arrival) => {
      if (arrival.message.status) proxy.#back(arrival.message);
      else proxy.#onward(arrival);
    });
    return proxy;
  }

  /** Its URI for a phone that is there. */
  uriOf({ address, port }: Endpoint): string {
    return `sip:${address}-${port}@${this.local.address}:${this.local.port};lr`;
  }

  /** Requests of this method, as they came. */
  requests(method: string): SipText[] {
    return (this.#ua?.received ?? []).map(({ message }) => message).filter((m) => !m.status && m.method === method);
  }

  close(): void {
    this.#ua?.close();
  }

  #back(response: SipText): void {
    const text = response.text.replace(/^Via:[^\r\n]*\r\n/im, "");
    const via = new SipText(text).header("Via");
    const [, host = "", port] = /UDP\s+([\d.]+):(\d+)/.exec(via) ?? [];
    const address = /;received=([\d.]+)/.exec(via)?.[1] ?? host;
    this.#ua?.send(text, { address, port: Number(/;rport=(\d+)/.exec(via)?.[1] ?? port) });
  }

  #onward({ message, from }: Arrival): void {
    const own = /^Route: <sip:([\d.]+)-(\d+)@[^>]*>\r\n/im.exec(message.text);
    const fromPhone = from.address !== this.#next.address || from.port !== this.#next.port;
    const phone = fromPhone ? from : { address: own?.[1] ?? "", port: Number(own?.[2]) };
    const stay = message.method === "REGISTER" ? "Path" : "Record-Route";
    const branch = /branch=([^;\s]+)/.exec(message.header("Via"))?.[1];
    const added = [
      `${stay}: <${this.uriOf(phone)}>`,
      `Via: SIP/2.0/UDP ${this.local.address}:${this.local.port};branch=${branch}-edge`,
    ];
    const text = message.text
      .replace(own?.[0] ?? "", "")
      .replace(/;rport(?=[;\r])/, `;rport=${from.port};received=${from.address}`)
      .replace(/^Via:/im, `${added.join("\r\n")}\r\nVia:`);
    this.#ua?.send(text, fromPhone ? this.#next : phone);
  }
}
