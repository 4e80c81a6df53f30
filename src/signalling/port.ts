/**
 * SIP as the application sees it: legs, requests and outcomes, whatever engine is behind. Nothing outside this folder
 * knows drachtio-srf.
 */

/**
 * Header fields by name, in lower case save for the few whose names drachtio-srf leaves as received (`X-…`, `P-…`,
 * `Diversion`). Repeated fields are joined by commas (RFC 3261 section 7.3.1).
 */
export type Headers = Readonly<Record<string, string>>;

export interface Message {
  readonly headers: Headers;
  /** Any type, untouched; "" when there is none. */
  readonly body: string;
}

/** Where a message came from. */
export interface Source {
  readonly protocol: string;
  readonly address: string;
  readonly port: number;
}

/** A response to be sent. Via, From, To, Call-ID, CSeq and Content-Length are the engine's. */
export interface Reply extends Message {
  /** 101 to 699; any, known to RFCs or not. */
  readonly status: number;
  readonly reason: string;
}

/**
 * Hears whether a 2xx to INVITE was sent; of other replies it is only sure to hear that they were not. `refused` when the
 * engine would not: the caller has cancelled, or the link is down.
 */
export type ReplyListener = (refused: string | undefined) => void;

export interface IncomingRequest extends Message {
  readonly method: string;
  readonly uri: string;
  /** "" outside any dialog. */
  readonly dialogId: string;
  readonly source: Source;
  /** `host:port` of the listener that received it, "" when unknown. */
  readonly receivedOn: string;
  /** Sends a provisional or the final response. A provisional with `Require: 100rel` is sent reliably (RFC 3262). */
  respond(reply: Reply, listener?: ReplyListener): void;
  /** The request was cancelled: the engine has answered the CANCEL and the request, so nothing more is to be sent. */
  onCancel: ((cancel: Headers) => void) | undefined;
}

/** An ACK to a 2xx. */
export interface IncomingAck extends Message {
  readonly dialogId: string;
}

export interface IncomingResponse extends Message {
  readonly status: number;
  readonly reason: string;
  /** "" when the request makes no dialog. */
  readonly dialogId: string;
  /** True for a provisional that waits for PRACK (RFC 3262). */
  readonly reliable: boolean;
  /** Acknowledges a 2xx to INVITE; to be called exactly once for each. */
  ack(message?: Message): void;
}

/** A request to be sent. Via, Call-ID, CSeq, Content-Length are the engine's; so are From, To and Route in a dialog. */
export interface OutgoingRequest {
  readonly method: string;
  /** Ignored within a dialog: the request goes to the remote target. */
  readonly uri: string;
  /** A SIP URI of the address to send it to, outside any dialog; without it the request's own URI says where. */
  readonly nextHop?: string;
  /** Hostname of the session agent that it goes to, where we have credentials to answer its challenges with. */
  readonly peer?: string | undefined;
  /** "" outside any dialog. */
  readonly dialogId: string;
  /** Handed over: not to be changed afterwards. `@localhost` in From and Contact stands for the address it is sent from. */
  readonly headers: Headers;
  readonly body: string;
}

/** How a request ended. A response the engine made up is no response: it is a timeout or a transport failure. */
export type Outcome =
  | { readonly kind: "response"; readonly response: IncomingResponse }
  /** Timer B or F, or silence after a CANCEL. */
  | { readonly kind: "timeout" }
  /** Refused, unreachable, reset; no listener to send from; or, `unresolved`, a name without an address. */
  | { readonly kind: "transport-failure"; readonly detail: string; readonly unresolved?: true }
  | { readonly kind: "refused"; readonly cause: RefusalCause; readonly detail: string };

/** `request-pending`: another INVITE is under way in the dialog (RFC 3261 section 14.1). `loop`: the target is ourselves. `no-dialog`: it has ended. `bad-request`: it cannot be sent as it is. `disconnected`: no engine. `credentials`: the agent challenges, and what we have does not satisfy it. */
export type RefusalCause = "request-pending" | "loop" | "no-dialog" | "bad-request" | "disconnected" | "credentials";

/** Whoever sent a request. After `SignallingUser.disconnected` nothing more is heard of it. */
export interface ExchangeUser {
  /** The engine has accepted it under this Call-ID, and with this request URI. */
  sent?(callId: string, uri: string): void;
  /** 1xx; 100 only where `Signalling.showsTrying`. */
  provisional(response: IncomingResponse): void;
  /** Exactly once. */
  final(outcome: Outcome): void;
}

/** For requests whose end interests no one: a BYE, a PRACK that the caller knows nothing of. */
export const unheeded: ExchangeUser = { provisional() {}, final() {} };

export interface Exchange {
  /** Cancels an INVITE. It may be called at any time: the engine waits for the first provisional (RFC 3261 section 9.1). */
  cancel(headers?: Headers): void;
}

export interface SignallingUser {
  /** An INVITE outside any dialog. */
  invite(request: IncomingRequest): void;
  /** Any other request but ACK and CANCEL; `dialogId` tells those within a dialog, unless the engine does not know it. */
  request(request: IncomingRequest): void;
  ack(ack: IncomingAck): void;
  /** The engine has ended a dialog with a BYE of its own: the ACK never came, a session timer ran out. */
  dialogEnded(dialogId: string, reason: string): void;
  connected(): void;
  /** The engine is gone and with it all transactions. */
  disconnected(): void;
}

export interface Signalling {
  readonly connected: boolean;
  /** Whether 100 responses are seen, so that silence can be told from work. */
  readonly showsTrying: boolean;
  /** Whether a Route that a request outside any dialog is given goes with it. */
  readonly takesRoute: boolean;
  /** Whether a REGISTER may be sent with the Contact `*` (RFC 3261 section 10.2.2). */
  readonly takesStar: boolean;
  /** Counts of the embedded engine; with an external one only those of sources that are kept away. */
  readonly engineCounters: object | undefined;
  /** Listens and connects; an external engine out of reach is tried again until it answers. Throws WEIR_LISTEN_FAILED. */
  start(user: SignallingUser): Promise<void>;
  stop(): Promise<void>;
  /** `listener` is called whenever the engine is lost and with it all exchanges, after `SignallingUser.disconnected`. */
  whenLost(listener: () => void): void;
  /** The addresses of a realm's agents are these from now on: what is said of strangers does not hold for them. */
  knowAgents(realm: string, addresses: readonly string[]): void;
  send(request: OutgoingRequest, user: ExchangeUser): Exchange;
}

/** The id of the dialog that an INVITE of this Call-ID and From tag makes: the convention of drachtio-server and its clients. */
export const dialogIdOf = (callId: string, fromTag: string): string => `${callId};from-tag=${fromTag}`;
