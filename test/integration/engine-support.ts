import dgram from "node:dgram";
import type { EventEmitter } from "node:events";
import type { AddressInfo, Server } from "node:net";
import Srf from "drachtio-srf";
import { vi } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { Engine, type EngineOptions } from "../../src/engine/engine.ts";
import { TcpLinkServer } from "../../src/engine/link/tcp-link.ts";
import { createVirtualLink, type VirtualLinkOptions } from "../../src/engine/link/virtual-link.ts";
import { parseMessage, SipMessage } from "../../src/engine/message/sip-message.ts";

/** A bare UDP socket that speaks what the test writes, and lets it wait for what comes. */
export class RawPeer {
  readonly #socket = dgram.createSocket("udp4");
  readonly #inbox: SipMessage[] = [];
  #waiting: (() => void)[] = [];
  /** Everything received, in order. */
  readonly received: SipMessage[] = [];
  /** Where the last message came from. */
  #from = { address: "", port: 0 };

  static async open(): Promise<RawPeer> {
    const peer = new RawPeer();
    await new Promise<void>((resolve) => peer.#socket.bind(0, "127.0.0.1", resolve));
    peer.#socket.on("message", (data, from) => {
      const message = parseMessage(data.toString("latin1"), { lenient: true });
      if (!(message instanceof SipMessage)) throw new Error(`unreadable: ${data.toString("latin1")}`);
      peer.#from = from;
      peer.received.push(message);
      peer.#inbox.push(message);
      for (const wake of peer.#waiting.splice(0)) wake();
    });
    return peer;
  }

  get port(): number {
    return (this.#socket.address() as AddressInfo).port;
  }

  send(text: string, port: number): void {
    this.#socket.send(Buffer.from(text, "latin1"), port, "127.0.0.1");
  }

  /** The next message not taken yet that is this method's request or has this status; others stay. */
  async next(what: string | number, timeoutMs = 4_000): Promise<SipMessage> {
    const end = Date.now() + timeoutMs;
    for (;;) {
      const at = this.#inbox.findIndex((each) => (each.isRequest ? each.method === what : each.status === what));
      const [found] = at < 0 ? [] : this.#inbox.splice(at, 1);
      if (found) return found;
      const left = end - Date.now();
      if (left <= 0) throw new Error(`no ${what}; got ${this.#inbox.map((m) => m.text.split("\r\n")[0]).join(", ")}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  /** Messages of this kind that came and were not taken. */
  pending(what: string | number): number {
    return this.#inbox.filter((each) => (each.isRequest ? each.method === what : each.status === what)).length;
  }

  /** Answers a request to where it came from. */
  answer(
    request: SipMessage,
    status: number,
    options: { toTag?: string; headers?: string[]; body?: string } = {},
  ): void {
    const { toTag = "peer", headers = [], body = "" } = options;
    const to = request.header("to") ?? "";
    const lines = [
      `SIP/2.0 ${status} Whatever`,
      ...request.headers("via").map((via) => `Via: ${via}`),
      `From: ${request.header("from")}`,
      `To: ${request.toTag === "" && status > 100 ? `${to};tag=${toTag}` : to}`,
      `Call-ID: ${request.callId}`,
      `CSeq: ${request.header("cseq")}`,
      ...request.headers("record-route").map((route) => `Record-Route: ${route}`),
      ...(status > 100 && status < 300 ? [`Contact: <sip:peer@127.0.0.1:${this.port}>`] : []),
      ...headers,
      `Content-Length: ${body.length}`,
    ];
    this.send(`${lines.join("\r\n")}\r\n\r\n${body}`, this.#from.port);
  }

  close(): void {
    this.#socket.close();
  }
}

let branches = 0;

export interface RequestOptions {
  readonly method?: string;
  readonly callId?: string;
  readonly cseq?: number;
  readonly fromTag?: string;
  readonly to?: string;
  readonly branch?: string;
  readonly headers?: readonly string[];
  readonly body?: string;
}

/** A request of a raw peer at `port` to the user `svc`. */
export function requestText(port: number, options: RequestOptions = {}): string {
  const {
    method = "INVITE",
    callId = `call-${port}`,
    cseq = 1,
    fromTag = "caller",
    to = "<sip:svc@127.0.0.1>",
  } = options;
  const { branch = `z9hG4bKtest${++branches}`, headers = [], body = "" } = options;
  return [
    `${method} sip:svc@127.0.0.1 SIP/2.0`,
    `Via: SIP/2.0/UDP 127.0.0.1:${port};branch=${branch};rport`,
    "Max-Forwards: 70",
    `From: "Caller" <sip:caller@127.0.0.1>;tag=${fromTag}`,
    `To: ${to}`,
    `Call-ID: ${callId}`,
    `CSeq: ${cseq} ${method}`,
    `Contact: <sip:caller@127.0.0.1:${port}>`,
    ...headers,
    `Content-Length: ${body.length}`,
    "",
    body,
  ].join("\r\n");
}

/** The engine with one application on it. */
export interface Rig {
  readonly engine: Engine;
  readonly srf: Srf;
  /** The engine's SIP port. */
  readonly port: number;
  readonly hostport: string;
  close(): Promise<void>;
}

const shortTimers = { t1: 50, t2: 200, t4: 250 };

export async function startEngine(options: Partial<EngineOptions> = {}): Promise<{ engine: Engine; port: number }> {
  const engine = new Engine({
    listen: [
      { protocol: "udp", address: "127.0.0.1", port: 0 },
      { protocol: "tcp", address: "127.0.0.1", port: 0 },
    ],
    timers: shortTimers,
    clock: systemClock,
    log: { warn: () => {}, debug: () => {} },
    ...options,
  });
  await engine.start();
  return { engine, port: engine.listening[0]?.port ?? 0 };
}

const connected = (srf: Srf): Promise<string> =>
  new Promise((resolve, reject) =>
    srf.on("connect", (error: Error | null, hostport: string) => (error ? reject(error) : resolve(hostport))),
  );

/** An application in the engine's thread. */
export async function virtualRig(
  link: VirtualLinkOptions = {},
  options: Partial<EngineOptions> = {},
): Promise<Rig & { readonly server: Server }> {
  const { engine, port } = await startEngine(options);
  const srf = new Srf();
  const up = connected(srf);
  const server = createVirtualLink(engine, link);
  srf.listen({ server, secret: "any" } as never);
  return { engine, srf, port, server, hostport: await up, close: () => engine.stop() };
}

/** An application over TCP. */
export async function tcpRig(options: Partial<EngineOptions> = {}): Promise<Rig & { readonly links: TcpLinkServer }> {
  const { engine, port } = await startEngine(options);
  const links = new TcpLinkServer(engine, { host: "127.0.0.1", port: 0, secret: "s3cret" });
  await links.start();
  const srf = new Srf();
  const up = connected(srf);
  // The engine may end the connection by a reset.
  srf.on("error", () => {});
  srf.connect({ host: "127.0.0.1", port: links.port, secret: "s3cret", reconnect: { maxAttempts: 1 } } as never);
  const hostport = await up;
  const close = async (): Promise<void> => {
    await links.stop();
    await engine.stop();
  };
  return { engine, srf, port, hostport, close, links };
}

/** What these tests use of drachtio-srf; its own typings leave out what raw calls need. */
export interface AppRequest extends EventEmitter {
  readonly method: string;
  readonly uri: string;
  readonly body: string;
  readonly source: string;
  readonly source_address: string;
  readonly protocol: string;
  readonly receivedOn: string;
  readonly stackTxnId: string;
  readonly stackDialogId: string;
  get(name: string): string | undefined;
  cancel(options: object, callback: (error: unknown, cancel?: AppRequest) => void): void;
}

export interface AppResponse {
  readonly status: number;
  readonly reason: string;
  readonly body: string;
  readonly source_address: string;
  readonly source_port: number;
  readonly stackDialogId: string;
  get(name: string): string | undefined;
  send(
    status: number,
    options?: object,
    sent?: (error: unknown) => void,
    acknowledged?: (ack: AppRequest) => void,
  ): void;
}

export type Acknowledge = (options?: object, sent?: (error: unknown) => void) => void;

interface AppSrf {
  use(method: string, handler: (req: AppRequest, res: AppResponse) => void): void;
  request(options: object, sent: (error: Error | null, req: AppRequest) => void): void;
}

/** Things that arrive, and those who wait for them. */
class Arrivals<T> {
  readonly #arrived: T[] = [];

  push(item: T): void {
    this.#arrived.push(item);
  }

  /** Takes the first one that fits, now or when it comes. */
  async next(wanted: string, fits: (item: T) => boolean): Promise<T> {
    const take = (): T => {
      const [found] = this.#arrived.splice(
        this.#arrived.findIndex((item) => fits(item)),
        this.#arrived.some(fits) ? 1 : 0,
      );
      if (found === undefined) throw new Error(`no ${wanted}`);
      return found;
    };
    return vi.waitFor(take, { timeout: 4_000, interval: 5 });
  }

  count(fits: (item: T) => boolean): number {
    return this.#arrived.filter(fits).length;
  }
}

/** A request the application sent, and what came back. */
export class Sent {
  readonly #answers = new Arrivals<{ res: AppResponse; ack: Acknowledge }>();

  constructor(readonly req: AppRequest) {
    req.on("response", (res: AppResponse, ack: Acknowledge) => this.#answers.push({ res, ack }));
  }

  next(status: number): Promise<{ res: AppResponse; ack: Acknowledge }> {
    return this.#answers.next(String(status), ({ res }) => res.status === status);
  }

  count(status: number): number {
    return this.#answers.count(({ res }) => res.status === status);
  }
}

export interface Received {
  readonly req: AppRequest;
  readonly res: AppResponse;
}

/** An application on raw calls that does nothing by itself. */
export class App {
  readonly #srf: AppSrf;
  readonly #requests = new Arrivals<Received>();

  constructor(srf: Srf) {
    this.#srf = srf as unknown as AppSrf;
    const methods = "invite ack bye prack update info message options notify subscribe refer register publish";
    for (const method of methods.split(" ")) this.#srf.use(method, (req, res) => this.#requests.push({ req, res }));
  }

  next(method: string): Promise<Received> {
    return this.#requests.next(method, ({ req }) => req.method === method);
  }

  count(method: string): number {
    return this.#requests.count(({ req }) => req.method === method);
  }

  /** Resolves when the engine has sent the request, rejects with its refusal. */
  request(options: object): Promise<Sent> {
    return new Promise((resolve, reject) =>
      this.#srf.request(options, (error, req) => (error ? reject(error) : resolve(new Sent(req)))),
    );
  }

  /** A request within a dialog. */
  within(stackDialogId: string, method: string, options: object = {}): Promise<Sent> {
    return this.request({ uri: "sip:placeholder", method, stackDialogId, ...options });
  }

  /** Resolves when the engine has sent the response, rejects with its refusal. */
  respond({ res }: Received, status: number, options: object = {}): Promise<void> {
    return new Promise((resolve, reject) =>
      res.send(status, options, (error) => (error ? reject(new Error(String(error))) : resolve())),
    );
  }
}
