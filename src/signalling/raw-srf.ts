import type { EventEmitter } from "node:events";
import type { Server, Socket } from "node:net";

/**
 * The part of drachtio-srf that the adapter uses, as its source has it. Its own typings leave out what raw calls need
 * (`stackDialogId`, `agent`, acknowledgements), so a cast at one place, `createRawSrf`, gives these.
 */
export interface RawMessage {
  readonly raw?: string;
  method: string;
  uri: string;
  status: number;
  reason: string;
  headers: Record<string, string>;
  body?: string;
  toJSON?: () => string;
}

export interface RawRequest extends EventEmitter {
  readonly msg: RawMessage;
  readonly source: "network" | "application";
  readonly source_address: string;
  readonly source_port: number;
  readonly protocol: string;
  readonly stackDialogId?: string;
  readonly receivedOn?: string;
  get(header: string): string | undefined;
  cancel(options: { headers: Headers; body: string }, callback: (error: unknown) => void): void;
}

type Headers = Readonly<Record<string, string>>;

export interface RawResponse {
  readonly msg: RawMessage;
  readonly agent: RawAgent;
  readonly source_address: string;
  readonly stackDialogId?: string;
  finished: boolean;
}

export interface RawAgent {
  /** `Response#send` without its table of known status codes, which throws on the others. */
  sendResponse(response: RawResponse, options: object, callback?: (error: unknown) => void): void;
}

export type RawAck = (options: { headers: Headers; body: string }) => void;

/** drachtio-srf renders what it is given as JSON for a debug log that is off. As this, that costs next to nothing. */
export const unlogged = { toJSON: (): string => "" };

export interface RawRequestOptions {
  readonly method: string;
  readonly uri: string;
  readonly headers: Headers;
  readonly body: string;
  readonly stackDialogId?: string;
  /** A SIP URI of where to send it, whatever its request URI says. */
  readonly proxy?: string;
}

/** Its links to engines, by their sockets, once `connect` has been called. */
export interface RawLinks {
  readonly mapServer: ReadonlyMap<
    Socket,
    {
      readonly pendingPingRequests: Set<string>;
      /** By Call-ID, until each has its final response. */
      readonly pendingNetworkInvites: Map<string, unknown>;
    }
  >;
  /** Sends a frame; its id, which drachtio-srf takes out of `pendingPingRequests` with the answer. */
  readonly wp: { send(socket: Socket, frame: string): string };
}

export interface RawSrf extends EventEmitter {
  readonly _app: { readonly client: RawLinks };
  use(handler: (request: RawRequest, response: RawResponse) => void): void;
  use(method: string, handler: (request: RawRequest, response: RawResponse) => void): void;
  request(options: RawRequestOptions, callback: (error: unknown, request?: RawRequest) => void): void;
  connect(options: { host: string; port: number; secret: string; reconnect: object }): void;
  listen(options: { server: Server; secret: string }): void;
  disconnect(socket?: Socket): void;
}
