import { unjoined } from "./challenges.ts";
import { exceeds, tooLarge } from "./message-size.ts";
import type { Headers, IncomingRequest, IncomingResponse, Message, Reply, ReplyListener, Source } from "./port.ts";
import { type RawAck, type RawMessage, type RawRequest, type RawResponse, unlogged } from "./raw-srf.ts";

/** drachtio-srf cuts a body at its first empty line when the message has no Content-Length. */
export function bodyOf(message: RawMessage): string {
  if (message.headers["content-length"] !== undefined || message.raw === undefined) return message.body ?? "";
  const end = message.raw.indexOf("\r\n\r\n");
  return end < 0 ? "" : message.raw.slice(end + 4);
}

/** What messages need of whoever made them. */
export interface MessageHost {
  /** Runs a callback of drachtio-srf; nothing may throw through it. */
  guard(work: () => void): void;
  /** Bytes. */
  readonly maxMessage: number;
}

export class DrachtioRequest implements IncomingRequest {
  readonly body: string;
  onCancel: ((cancel: Headers) => void) | undefined;
  readonly #request: RawRequest;
  readonly #response: RawResponse;
  /** What drachtio-srf copied from the request: Call-ID, CSeq, From, To. */
  readonly #identity: Headers;
  readonly #maxMessage: number;

  constructor(request: RawRequest, response: RawResponse, { maxMessage }: MessageHost) {
    this.#request = request;
    this.#response = response;
    this.#identity = response.msg.headers;
    this.#maxMessage = maxMessage;
    this.body = bodyOf(request.msg);
  }

  get method(): string {
    return this.#request.msg.method;
  }

  get uri(): string {
    return this.#request.msg.uri;
  }

  get headers(): Headers {
    return this.#request.msg.headers;
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
    const full = { headers: { ...this.#identity, ...unjoined(reply.headers) }, body: reply.body };
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

export class DrachtioResponse implements IncomingResponse {
  readonly body: string;
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
    this.body = bodyOf(response.msg);
  }

  get status(): number {
    return this.#response.msg.status;
  }

  get reason(): string {
    return this.#response.msg.reason;
  }

  get headers(): Headers {
    return this.#response.msg.headers;
  }

  get dialogId(): string {
    return this.#response.stackDialogId ?? "";
  }

  get reliable(): boolean {
    return this.status < 200 && this.headers.rseq !== undefined;
  }

  ack(message?: Message): void {
    // Owed even without what the engine would not take.
    const options = message && !exceeds(this.#host.maxMessage, message, this.#uri, this.dialogId) ? message : {};
    this.#host.guard(() => this.#ack({ ...options }));
  }
}

/** A response of our own with nothing to it. */
export const plainReply = (status: number, reason: string): Reply => ({ status, reason, headers: {}, body: "" });

export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
