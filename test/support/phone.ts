import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";
import { eventually } from "./eventually.ts";
import type { Endpoint } from "./loopback.ts";
import { responseTo, SipText, token } from "./sip-text.ts";

/** The address that a phone believes to have: nothing can be sent there. */
const inside: Endpoint = { address: "10.99.99.5", port: 5060 };

interface Wire {
  readonly protocol: "UDP" | "TCP";
  send(text: string): void;
  close(): void;
}

/** A phone behind a NAT: its Via and its Contact name an address that only it knows. It answers every call. */
export class Phone {
  readonly received: SipText[] = [];
  readonly contact: string;
  readonly #callId = `phone-${token()}`;
  readonly #tag = token();
  readonly #user: string;
  readonly #weir: Endpoint;
  readonly #wire: Wire;
  #cseq = 0;

  private constructor(
    user: string,
    weir: Endpoint,
    /** Where it is in truth. */
    readonly local: Endpoint,
    open: (hear: (text: string) => void) => Wire,
  ) {
    this.#user = user;
    this.#weir = weir;
    this.#wire = open((text) => this.#hear(new SipText(text)));
    this.contact = `sip:${user}@${inside.address}:${inside.port};transport=${this.#wire.protocol.toLowerCase()}`;
  }

  static async overUdp(user: string, weir: Endpoint, local: Endpoint): Promise<Phone> {
    const socket = createSocket("udp4");
    socket.bind(local.port, local.address);
    await once(socket, "listening");
    return new Phone(user, weir, local, (hear) => {
      socket.on("message", (bytes) => hear(bytes.toString("latin1")));
      socket.on("error", () => undefined);
      const send = (text: string) => socket.send(Buffer.from(text, "latin1"), weir.port, weir.address);
      return { protocol: "UDP", send, close: () => socket.close() };
    });
  }

  static async overTcp(user: string, weir: Endpoint, local: Endpoint): Promise<Phone> {
    const socket = connect({ host: weir.address, port: weir.port, localAddress: local.address });
    await once(socket, "connect");
    const own = { address: local.address, port: socket.localPort ?? 0 };
    return new Phone(user, weir, own, (hear) => {
      let text = "";
      socket.on("error", () => undefined);
      socket.on("data", (bytes) => {
        text += bytes.toString("latin1");
        for (let end = endOf(text); end > 0; end = endOf(text)) {
          hear(text.slice(0, end));
          text = text.slice(end);
        }
      });
      return { protocol: "TCP", send: (message) => socket.write(message, "latin1"), close: () => socket.destroy() };
    });
  }

  /** The final response to a REGISTER. `contact`: in place of its own with `expires`. */
  async register(
    expires: number,
    { contact = `<${this.contact}>`, headers = [] as readonly string[], domain = "" } = {},
  ): Promise<SipText> {
    this.#cseq++;
    const lines = contact === "" ? [] : [`Contact: ${contact}`];
    const id = `${this.#cseq} REGISTER`;
    const registrar = domain || `${this.#weir.address}:${this.#weir.port}`;
    this.send("REGISTER", `sip:${registrar}`, [
      `From: <sip:${this.#user}@${registrar}>;tag=${this.#tag}`,
      `To: <sip:${this.#user}@${registrar}>`,
      `Call-ID: ${this.#callId}`,
      `CSeq: ${id}`,
      `Expires: ${expires}`,
      ...lines,
      ...headers,
    ]);
    return this.receive(`an answer to REGISTER ${id}`, (m) => m.status >= 200 && m.header("CSeq") === id);
  }

  receive(wanted: string, match: (message: SipText) => boolean): Promise<SipText> {
    return eventually(wanted, () => this.received.find(match), { found: () => this.received.map((m) => m.startLine) });
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

/** Where the first message of a stream ends, 0 while it is not complete. */
function endOf(text: string): number {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return 0;
  const end = head + 4 + Number(new SipText(text.slice(0, head)).header("Content-Length"));
  return end <= text.length ? end : 0;
}
