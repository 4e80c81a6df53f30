import { DrachtioResponse, type MessageHost, textOf } from "./incoming.ts";
import { exceeds, tooLarge } from "./message-size.ts";
import type { Exchange, ExchangeUser, Headers, Outcome, OutgoingRequest, RefusalCause } from "./port.ts";
import { type RawAck, type RawRequest, type RawResponse, type RawSrf, unlogged } from "./raw-srf.ts";

/** What an exchange needs around it. */
export interface ExchangeHost extends MessageHost {
  readonly srf: RawSrf;
  /** Call-IDs of INVITEs that have no final response yet; undefined where the engine itself knows them again. */
  readonly ownInvites: Set<string> | undefined;
  /** drachtio-srf shows an UPDATE that meets a request of the same Call-ID only to that request. */
  readonly onUpdate: (request: RawRequest, response: RawResponse) => void;
}

/** One request on its way through drachtio-srf. */
export class DrachtioExchange implements Exchange {
  readonly #host: ExchangeHost;
  readonly #user: ExchangeUser;
  #request: RawRequest | undefined;
  #cancel: Headers | undefined;
  #over = false;

  constructor(host: ExchangeHost, user: ExchangeUser) {
    this.#host = host;
    this.#user = user;
  }

  send({ method, uri, nextHop, dialogId, headers, body }: OutgoingRequest): void {
    const { packing, maxMessage, srf } = this.#host;
    if (exceeds(maxMessage, { headers, body }, uri, dialogId)) {
      this.#endSoon({ kind: "refused", cause: "bad-request", detail: tooLarge });
      return;
    }
    const options = { method, uri: uri || "sip:placeholder", ...packing.pack(headers, body), ...unlogged };
    const way = dialogId === "" ? nextHop !== undefined && { proxy: nextHop } : { stackDialogId: dialogId };
    try {
      srf.request(way ? { ...options, ...way } : options, (error, request) =>
        this.#host.guard(() => this.#sent(error, request)),
      );
    } catch (error) {
      // Without a connection drachtio-srf throws.
      this.#endSoon({ kind: "refused", cause: "disconnected", detail: textOf(error) });
    }
  }

  cancel(headers: Headers = {}): void {
    if (this.#over || this.#cancel) return;
    this.#cancel = headers;
    if (this.#request) this.#sendCancel(this.#request, headers);
  }

  #sent(error: unknown, request: RawRequest | undefined): void {
    if (error || !request) {
      this.#end(refusal(textOf(error)));
      return;
    }
    this.#request = request;
    request.on("response", (response: RawResponse, ack: RawAck) =>
      this.#host.guard(() => this.#receive(response, ack)),
    );
    request.on("update", this.#host.onUpdate);
    const callId = request.msg.headers["call-id"] ?? "";
    if (request.msg.method === "INVITE") this.#host.ownInvites?.add(callId);
    this.#user.sent?.(callId, request.msg.uri);
    if (this.#cancel) this.#sendCancel(request, this.#cancel);
  }

  #sendCancel(request: RawRequest, headers: Headers): void {
    const { packing, maxMessage } = this.#host;
    const sendable = exceeds(maxMessage, { headers, body: "" }, request.msg.uri) ? {} : headers;
    // The INVITE always ends in a final of its own, so how the CANCEL fared is of no interest.
    this.#host.guard(() => request.cancel(packing.pack(sendable, ""), () => {}));
  }

  #receive(raw: RawResponse, ack: RawAck): void {
    const status = raw.msg.status;
    if (raw.source_address === "") {
      if (status >= 200) this.#end(localOutcome(status, raw.msg.reason));
      return;
    }
    const response = new DrachtioResponse(raw, ack, this.#host, this.#request?.msg.uri ?? "");
    if (status < 200) this.#user.provisional(response);
    else this.#end({ kind: "response", response });
  }

  /** Whoever sends is not ready to hear of the end yet. */
  #endSoon(outcome: Outcome): void {
    setImmediate(() => this.#host.guard(() => this.#end(outcome)));
  }

  #end(outcome: Outcome): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#request?.msg.method === "INVITE")
      this.#host.ownInvites?.delete(this.#request.msg.headers["call-id"] ?? "");
    this.#user.final(outcome);
  }
}

/** The reason phrase with which drachtio-server and our own engine make up the 503 for a name without an address. */
const nameUnknown = "DNS Error";
const plainPhrase = "Service Unavailable";

/** The engine's own finals have no source address: 408 for timers B and F, 503 and 410 for the transport. */
function localOutcome(status: number, reason: string): Outcome {
  if (status !== 503 && status !== 410) return { kind: "timeout" };
  if (reason === nameUnknown) return { kind: "transport-failure", detail: "no address for the name", unresolved: true };
  // drachtio-server says no more than this.
  const detail = reason === plainPhrase ? "the engine could not deliver the request" : reason;
  return { kind: "transport-failure", detail };
}

const causes: readonly (readonly [text: RegExp, cause: RefusalCause])[] = [
  [/INVITE is in progress/, "request-pending"],
  [/to myself/i, "loop"],
  [/unable to find dialog/i, "no-dialog"],
  [/provided socket/i, "disconnected"],
  [/content-type|invalid (?:request-uri|route|from)|creating sip transaction/i, "bad-request"],
];

/** What the engine refuses to send: drachtio-server tells the causes apart by text alone. */
function refusal(detail: string): Outcome {
  const found = causes.find(([text]) => text.test(detail));
  return found ? { kind: "refused", cause: found[1], detail } : { kind: "transport-failure", detail };
}
