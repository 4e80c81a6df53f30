import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect as connectTcp, type NetConnectOpts, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { eventually } from "./eventually.ts";
import type { Endpoint } from "./loopback.ts";
import { SipStream } from "./sip-stream.ts";
import { responseTo, SipText, token } from "./sip-text.ts";

/** The address that a phone believes to have: nothing can be sent there. */
const inside: Endpoint = { address: "10.99.99.5", port: 5060 };

interface Wire {
  readonly protocol: "UDP" | "TCP" | "TLS";
  /** Where it is in truth. */
  readonly local: Endpoint;
  /** Where it sends. */
  readonly to: Endpoint;
  send(text: string): void;
  close(): void;
}

/** A phone behind a NAT: its Via and its Contact name an address that only it knows. It answers every call. */
export class Phone {
  readonly received: SipText[] = [];
  readonly user: string;
  readonly contact: string;
  readonly #callId = `phone-${token()}`;
  readonly #tag = token();
  readonly #wire: Wire;
  #cseq = 0;

  private constructor(user: string, open: (hear: (message: SipText) => void) => Wire) {
    this.user = user;
    this.#wire = open((message) => this.#hear(message));
    this.contact = `sip:${user}@${inside.address}:${inside.port};transport=${this.#wire.protocol.toLowerCase()}`;
  }

  static async overUdp(user: string, to: Endpoint, local: Endpoint): Promise<Phone> {
    const socket = createSocket("udp4");
    socket.bind(local.port, local.address);
    await once(socket, "listening");
    return new Phone(user, (hear) => {
      socket.on("message", (bytes) => hear(new SipText(bytes.toString("latin1"))));
      socket.on("error", () => undefined);
      const send = (text: string) => socket.send(Buffer.from(text, "latin1"), to.port, to.address);
      return { protocol: "UDP", local, to, send, close: () => socket.close() };
    });
  }

  static async overTcp(user: string, to: Endpoint, { address }: Endpoint): Promise<Phone> {
    const socket = connectTcp({ host: to.address, port: to.port, localAddress: address });
    await once(socket, "connect");
    return Phone.#overStream("TCP", user, to, socket);
  }

  /** `options`: what it makes of the certificate that it is shown. */
  static async overTls(user: string, to: Endpoint, { address }: Endpoint, options: ConnectionOptions): Promise<Phone> {
    const place: NetConnectOpts & ConnectionOptions = { host: to.address, port: to.port, localAddress: address };
    const socket = connectTls({ ...place, ...options });
    await once(socket, "secureConnect");
    return Phone.#overStream("TLS", user, to, socket);
  }

  static #overStream(protocol: "TCP" | "TLS", user: string, to: Endpoint, socket: Socket): Phone {
    return new Phone(user, (hear) => {
      const stream = new SipStream(socket, hear);
      const local = { address: socket.localAddress ?? "", port: socket.localPort ?? 0 };
      return { protocol, local, to, send: (text) => stream.send(text), close: () => socket.destroy() };
    });
  }

  /** Where it is in truth. */
  get local(): Endpoint {
    return this.#wire.local;
  }

  /** The final response to a REGISTER. `contact`: in place of its own with `expires`. */
  async register(
    expires: number,
    { contact = `<${this.contact}>`, headers = [] as readonly string[], domain = "" } = {},
  ): Promise<SipText> {
    this.#cseq++;
    const { address, port } = this.#wire.to;
    const id = `${this.#cseq} REGISTER`;
    const registrar = domain || `${address}:${port}`;
    this.send("REGISTER", `sip:${registrar}`, [
      `From: <sip:${this.user}@${registrar}>;tag=${this.#tag}`,
      `To: <sip:${this.user}@${registrar}>`,
      `Call-ID: ${this.#callId}`,
      `CSeq: ${id}`,
      `Expires: ${expires}`,
      ...(contact === "" ? [] : [`Contact: ${contact}`]),
      ...headers,
    ]);
    return this.receive(`an answer to REGISTER ${id}`, (m) => m.status >= 200 && m.header("CSeq") === id);
  }

  receive(wanted: string, match: (message: SipText) => boolean): Promise<SipText> {
    return eventually(wanted, () => this.received.find(match), { found: () => this.received.map((m) => m.startLine) });
  }

  /** The first request of this method that has come, or that comes. */
  request(method: string): Promise<SipText> {
    return this.receive(`a ${method}`, (m) => !m.status && m.method === method);
  }

  send(method: string, uri: string, headers: readonly string[]): void {
    const lines = [
      `${method} ${uri} SIP/2.0`,
      `Via: SIP/2.0/${this.#wire.protocol} ${inside.address}:${inside.port};branch=z9hG4bK${token()};rport`,
      "Max-Forwards: 70",
      ...headers,
      "Content-Length: 0",
    ];
    this.#wire.send(`${lines.join("\r\n")}\r\n\r\n`);
  }

  close(): void {
    this.#wire.close();
  }

  #hear(message: SipText): void {
    this.received.push(message);
    if (message.status || message.method === "ACK") return;
    this.#wire.send(responseTo(message, 200, "OK", inside));
  }
}
