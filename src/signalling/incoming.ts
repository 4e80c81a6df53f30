import { exceeds, tooLarge } from "./message-size.ts";
import type { Packing } from "./packing.ts";
import type { Headers, IncomingRequest, IncomingResponse, Message, Reply, ReplyListener, Source } from "./port.ts";
import { type RawAck, type RawRequest, type RawResponse, unlogged } from "./raw-srf.ts";

/** What messages need of whoever made them. */
export interface MessageHost {
  /** Runs a callback of drachtio-srf; nothing may throw through it. */
  guard(work: () => void): void;
  readonly packing: Packing;
  /** Bytes. */
  readonly maxMessage: number;
}

export class DrachtioRequest implements IncomingRequest {
  readonly headers: Headers;
  readonly body: string;
  onCancel: ((cancel: Headers) => void) | undefined;
  readonly #request: RawRequest;
  readonly #response: RawResponse;
  readonly #packing: Packing;
  /** What drachtio-srf copied from the request, by which it knows it again: Call-ID, and what else it was shown. */
  readonly #identity: Headers;
  readonly #maxMessage: number;

  constructor(request: RawRequest, response: RawResponse, { packing, maxMessage }: MessageHost) {
    this.#request = request;
    this.#response = response;
    this.#packing = packing;
    this.#identity = response.msg.headers;
    this.#maxMessage = maxMessage;
    const { headers, body } = packing.unpack(request.msg);
    this.headers = headers;
    this.body = body;
  }

  get method(): string {
    return this.#request.msg.method;
  }

  get uri(): string {
    return this.#request.msg.uri;
  }

  get dialogId(): string {
    return this.#request.stackDialogId ?? "";
  }

  get source(): Source {
    const { protocol, source_address: address, source_port: port } = this.#request;
    return { protocol, address, port };
  }

  get receivedOn(): string {
    return this.#request.receivedOn ?? "";
  }

  respond(reply: Reply, listener?: ReplyListener): void {
    const { headers, body } = this.#packing.pack(reply.headers, reply.body);
    const full = { headers: { ...this.#identity, ...headers }, body };
    if (!exceeds(this.#maxMessage, full, reply.reason)) {
      this.#send({ status: reply.status, reason: reply.reason, ...full }, listener);
      return;
    }
    // A provisional response may be missed; a final one is owed, and the engine needs none of the request's fields.
    const callId = this.#identity["call-id"] ?? "";
    if (reply.status >= 200 && !exceeds(this.#maxMessage, plainReply(500, ""), callId)) {
      this.#send({ ...plainReply(500, "Server Internal Error"), headers: { "call-id": callId } });
    }
    listener?.(tooLarge);
  }

  #send({ status, reason, headers, body }: Reply, listener?: ReplyListener): void {
    const { msg, agent } = this.#response;
    msg.status = status;
    msg.reason = reason;
    msg.headers = headers;
    msg.body = body;
    msg.toJSON = unlogged.toJSON;
    if (status >= 200) this.#response.finished = true;
    const callback = listener && ((error: unknown) => listener(error ? textOf(error) : undefined));
    agent.sendResponse(this.#response, {}, callback);
  }
}

const empty: Message = { headers: {}, body: "" };

export class DrachtioResponse implements IncomingResponse {
  #message: Message | undefined;
  readonly #response: RawResponse;
  readonly #ack: RawAck;
  readonly #host: MessageHost;
  /** Of the request it answers. */
  readonly #uri: string;

  constructor(response: RawResponse, ack: RawAck, host: MessageHost, uri: string) {
    this.#response = response;
    this.#ack = ack;
    this.#host = host;
    this.#uri = uri;
  }

  get headers(): Headers {
    return this.#unpacked.headers;
  }

  get body(): string {
    return this.#unpacked.body;
  }

  get status(): number {
    return this.#response.msg.status;
  }

  get reason(): string {
    return this.#response.msg.reason;
  }

  get dialogId(): string {
    return this.#response.stackDialogId ?? "";
  }

  get reliable(): boolean {
    return this.status < 200 && this.headers.rseq !== undefined;
  }

  ack(message = empty): void {
    const { guard, packing, maxMessage } = this.#host;
    // Owed even without what the engine would not take.
    const { headers, body } = exceeds(maxMessage, message, this.#uri, this.dialogId) ? empty : message;
    guard(() => this.#ack(packing.pack(headers, body)));
  }

  /** Only when it is asked for: of the answer to a ping nobody reads more than the status. */
  get #unpacked(): Message {
    this.#message ??= this.#host.packing.unpack(this.#response.msg);
    return this.#message;
  }
}

/** A response of our own with nothing to it. */
export const plainReply = (status: number, reason: string): Reply => ({ status, reason, headers: {}, body: "" });

export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
