import type {
  Exchange,
  ExchangeUser,
  Headers,
  IncomingRequest,
  IncomingResponse,
  Message,
  Outcome,
  OutgoingRequest,
  Reply,
  ReplyListener,
  Signalling,
  Source,
} from "../../src/signalling/port.ts";

export interface ResponseOptions {
  readonly headers?: Headers;
  readonly body?: string;
  readonly reason?: string;
  readonly reliable?: boolean;
}

/** A request that calls sent, and what the far end does with it. */
export class FakeExchange implements Exchange {
  readonly request: OutgoingRequest;
  readonly callId: string;
  /** The headers of the CANCEL; undefined while there was none. */
  cancelled: Headers | undefined;
  /** The ACKs to its 2xx. */
  readonly acks: (Message | undefined)[] = [];
  readonly #user: ExchangeUser;

  constructor(request: OutgoingRequest, user: ExchangeUser, callId: string) {
    this.request = request;
    this.#user = user;
    this.callId = callId;
    user.sent?.(callId, request.uri);
  }

  get dialogId(): string {
    return this.request.dialogId || `${this.callId};from-tag=ours`;
  }

  cancel(headers: Headers = {}): void {
    this.cancelled = headers;
  }

  respond(status: number, options: ResponseOptions = {}): void {
    const { headers = {}, body = "", reason = "Because", reliable = false } = options;
    const response: IncomingResponse = {
      status,
      reason,
      headers: { cseq: "1 INVITE", ...(reliable && { require: "100rel", rseq: "7" }), ...headers },
      body,
      dialogId: status === 100 ? "" : this.dialogId,
      reliable,
      ack: (message) => this.acks.push(message),
    };
    if (status < 200) this.#user.provisional(response);
    else this.end({ kind: "response", response });
  }

  end(outcome: Outcome): void {
    this.#user.final(outcome);
  }
}

/** A request from the network, and what calls answered. */
export class FakeRequest implements IncomingRequest {
  readonly method: string;
  readonly uri: string;
  readonly headers: Headers;
  readonly body: string;
  readonly dialogId: string;
  readonly source: Source;
  readonly receivedOn = "127.0.0.2:5060";
  readonly replies: Reply[] = [];
  onCancel: ((cancel: Headers) => void) | undefined;
  /** What the engine says instead of sending the next final reply. */
  refusal: string | undefined;

  constructor(method: string, options: Partial<Omit<FakeRequest, "method">> = {}) {
    this.method = method;
    this.uri = options.uri ?? "sip:100@127.0.0.2:5060";
    this.headers = options.headers ?? {};
    this.body = options.body ?? "";
    this.dialogId = options.dialogId ?? "";
    this.source = options.source ?? { protocol: "udp", address: "127.0.0.31", port: 5060 };
  }

  get statuses(): number[] {
    return this.replies.map((reply) => reply.status);
  }

  get last(): Reply | undefined {
    return this.replies.at(-1);
  }

  respond(reply: Reply, listener?: ReplyListener): void {
    if (this.refusal === undefined) this.replies.push(reply);
    listener?.(this.refusal);
  }
}

/** The signalling port without an engine: what calls send is kept, in order. */
export class FakeSignalling implements Signalling {
  connected = true;
  showsTrying = true;
  takesRoute = true;
  takesStar = true;
  readonly engineCounters = undefined;
  readonly sent: FakeExchange[] = [];
  readonly #whenLost: (() => void)[] = [];

  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  whenLost(listener: () => void): void {
    this.#whenLost.push(listener);
  }

  /** The engine goes away. */
  lose(): void {
    this.connected = false;
    for (const listener of this.#whenLost) listener();
  }

  knowAgents(): void {}

  send(request: OutgoingRequest, user: ExchangeUser): Exchange {
    const exchange = new FakeExchange(request, user, `out-${this.sent.length + 1}`);
    this.sent.push(exchange);
    return exchange;
  }

  /** Everything sent with this method, oldest first. */
  all(method: string): FakeExchange[] {
    return this.sent.filter((exchange) => exchange.request.method === method);
  }

  /** The newest request with this method; throws when there is none. */
  last(method: string): FakeExchange {
    const exchange = this.all(method).at(-1);
    if (!exchange) throw new Error(`no ${method} was sent`);
    return exchange;
  }
}
