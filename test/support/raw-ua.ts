import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { connect, type Socket as TcpSocket } from "node:net";
import { eventually } from "./eventually.ts";
import type { Endpoint } from "./loopback.ts";
import { responseTo, SipText } from "./sip-text.ts";

export interface Arrival {
  readonly message: SipText;
  readonly from: Endpoint;
}

/** A UDP endpoint that sends whatever bytes it is told and keeps all it receives: for what SIPp cannot do. */
export class RawUa {
  /** Everything received, in order. */
  readonly received: Arrival[] = [];
  readonly #socket: Socket;

  private constructor(
    readonly local: Endpoint,
    socket: Socket,
    react: (arrival: Arrival, ua: RawUa) => void,
  ) {
    this.#socket = socket;
    socket.on("message", (bytes, { address, port }) => {
      const arrival = { message: new SipText(bytes.toString("latin1")), from: { address, port } };
      this.received.push(arrival);
      react(arrival, this);
    });
    // A closed port at the other end shows as an error of this socket; that is the other end's affair.
    socket.on("error", () => undefined);
  }

  /** `react` is called with every message that arrives. */
  static async open(local: Endpoint, react: (arrival: Arrival, ua: RawUa) => void = () => undefined): Promise<RawUa> {
    const socket = createSocket("udp4");
    const ua = new RawUa(local, socket, react);
    socket.bind(local.port, local.address);
    await once(socket, "listening");
    return ua;
  }

  send(message: string | Buffer, to: Endpoint): void {
    this.#socket.send(typeof message === "string" ? Buffer.from(message, "latin1") : message, to.port, to.address);
  }

  /** The first message received, or yet to come, that is as wanted. */
  async receive(wanted: string, match: (message: SipText) => boolean, patienceMs?: number): Promise<SipText> {
    const look = () => this.received.find(({ message }) => match(message))?.message;
    const found = () => this.received.map(({ message }) => message.startLine);
    return eventually(wanted, look, { found, ...(patienceMs === undefined ? {} : { patienceMs }) });
  }

  /** The final response to this call's INVITE. */
  final(callId: string): Promise<SipText> {
    return this.receive(
      `a final response to ${callId}`,
      (m) => m.status >= 200 && m.header("Call-ID") === callId && m.method === "INVITE",
    );
  }

  close(): void {
    this.#socket.close();
  }
}

/** An agent that answers every INVITE with 200 and every other request with 200, at once. */
export function answeringAgent(local: Endpoint): Promise<RawUa> {
  return RawUa.open(local, ({ message, from }, ua) => {
    if (!message.status && message.method !== "ACK") ua.send(responseTo(message, 200, "OK", local), from);
  });
}

/**
 * A stateless proxy at `local` that stays on the path of dialogs (Record-Route), sends every request on to `next`, by
 * default with its request URI untouched, and every response back by the Via below its own (RFC 3261 section 16.11).
 */
export function forwardingProxy(local: Endpoint, next: Endpoint, rewrite = (uri: string) => uri): Promise<RawUa> {
  return RawUa.open(local, ({ message }, ua) => {
    if (message.status) {
      const text = message.text.replace(/^Via:[^\r\n]*\r\n/im, "");
      const below = /SIP\/2\.0\/UDP\s+([\d.]+):(\d+)/.exec(new SipText(text).header("Via"));
      if (below) ua.send(text, { address: below[1] ?? "", port: Number(below[2]) });
      return;
    }
    const branch = /branch=([^;\s]+)/.exec(message.header("Via"))?.[1];
    const via = `Via: SIP/2.0/UDP ${local.address}:${local.port};branch=${branch}-proxy\r\n`;
    const recordRoute = `Record-Route: <sip:${local.address}:${local.port};lr>\r\n`;
    const hops = Number(message.header("Max-Forwards")) - 1;
    const text = message.text
      .replace(message.requestUri, rewrite(message.requestUri))
      .replace(/^Route:[^\r\n]*\r\n/im, "")
      .replace(/^Via:/im, `${recordRoute}${via}Via:`)
      .replace(/^Max-Forwards:[^\r\n]*/im, `Max-Forwards: ${hops}`);
    ua.send(text, next);
  });
}

/** A TCP connection that sends whatever bytes it is told. */
export class RawConnection {
  /** All bytes received, as latin1 text. */
  received = "";
  closed = false;
  readonly #socket: TcpSocket;

  private constructor(socket: TcpSocket) {
    this.#socket = socket;
    socket.on("data", (bytes) => {
      this.received += bytes.toString("latin1");
    });
    // Reset or ended in an orderly way: both are "it lost its connection".
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.closed = true;
    });
  }

  static async open(to: Endpoint, local?: string): Promise<RawConnection> {
    const socket = connect({ host: to.address, port: to.port, ...(local ? { localAddress: local } : {}) });
    await once(socket, "connect");
    socket.setNoDelay(true);
    return new RawConnection(socket);
  }

  get localPort(): number {
    return this.#socket.localPort ?? 0;
  }

  write(text: string): void {
    if (!this.closed) this.#socket.write(text, "latin1");
  }

  close(): void {
    this.#socket.destroy();
  }
}
