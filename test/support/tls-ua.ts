import { once } from "node:events";
import { type ConnectionOptions, connect, createServer, type Server, type TLSSocket, type TlsOptions } from "node:tls";
import { eventually } from "./eventually.ts";
import type { Endpoint } from "./loopback.ts";
import { SipStream } from "./sip-stream.ts";
import { RawCall, responseTo, type SipText } from "./sip-text.ts";

/** An agent on TLS that answers every request with 200 at once. */
export class TlsAgent {
  readonly connections: SipStream<TLSSocket>[] = [];
  readonly #server: Server;

  private constructor(local: Endpoint, options: TlsOptions) {
    this.#server = createServer(options, (socket) => {
      this.connections.push(
        new SipStream(socket, (message, connection) => {
          if (message.status || message.method === "ACK") return;
          const answer = responseTo(message, 200, "OK", local);
          connection.send(answer.replace(/^(Contact: <[^>]+)>/m, "$1;transport=tls>"));
        }),
      );
    });
  }

  static async at(local: Endpoint, options: TlsOptions): Promise<TlsAgent> {
    const agent = new TlsAgent(local, options);
    agent.#server.listen(local.port, local.address);
    await once(agent.#server, "listening");
    return agent;
  }

  /** Every message of this method that came, over whatever connection. */
  requests(method: string): SipText[] {
    return this.connections.flatMap(({ received }) => received).filter((m) => m.status === 0 && m.method === method);
  }

  close(): void {
    this.#server.close();
    for (const { socket } of this.connections) socket.destroy();
  }
}

/** A caller on a TLS connection of its own. */
export class TlsCaller {
  private constructor(
    readonly connection: SipStream<TLSSocket>,
    readonly local: Endpoint,
    readonly to: Endpoint,
  ) {}

  static async connect(to: Endpoint, options: ConnectionOptions): Promise<TlsCaller> {
    const socket = connect({ host: to.address, port: to.port, ...options });
    const connection = new SipStream(socket);
    await eventually("the handshake, or its failure", () => socket.authorized || connection.closed);
    return new TlsCaller(connection, { address: socket.localAddress ?? "", port: socket.localPort ?? 0 }, to);
  }

  /** Places a call; an answered one is acknowledged. `scheme`: of the request URI. */
  async call(number: string, scheme: "sip" | "sips" = "sip"): Promise<{ call: RawCall; final: SipText }> {
    const call = new RawCall(this.local, this.to, number, "TLS");
    this.connection.send(call.invite({ requestUri: `${scheme}:${number}@${this.to.address}:${this.to.port}` }));
    const final = await this.#answer(call, "INVITE");
    this.connection.send(call.ack(final));
    return { call, final };
  }

  async hangUp({ call, final }: { readonly call: RawCall; readonly final: SipText }): Promise<SipText> {
    this.connection.send(call.request("BYE", final));
    return this.#answer(call, "BYE");
  }

  close(): void {
    this.connection.socket.destroy();
  }

  #answer({ callId }: RawCall, method: string): Promise<SipText> {
    const isAnswer = (m: SipText) => m.status >= 200 && m.method === method && m.header("Call-ID") === callId;
    const { received, error } = this.connection;
    return eventually(`an answer to ${method}`, () => received.find(isAnswer), { found: () => error });
  }
}
