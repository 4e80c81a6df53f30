import type { Answered, DigestClient } from "./digest-client.ts";
import type { Exchange, ExchangeUser, Headers, IncomingResponse, Outcome, OutgoingRequest } from "./port.ts";

/** Challenges answered for one request. More are a peer that will never be content. */
const maxAnswers = 4;

/**
 * A request to an agent that may challenge it: sent again with credentials, as often as that helps, under the same
 * Call-ID and From tag and with the next CSeq (RFC 3261 section 22.2). Whoever asked for it hears the last answer alone.
 */
export class ChallengedExchange implements Exchange, ExchangeUser {
  readonly #digest: DigestClient;
  readonly #user: ExchangeUser;
  readonly #sendOnce: (request: OutgoingRequest, user: ExchangeUser) => Exchange;
  #request: OutgoingRequest | undefined;
  #answered: Answered = { nonces: {}, fresh: {} };
  #uri = "";
  #answers = 0;
  #exchange: Exchange | undefined;
  #cancelled = false;

  constructor(
    digest: DigestClient,
    user: ExchangeUser,
    sendOnce: (request: OutgoingRequest, user: ExchangeUser) => Exchange,
  ) {
    this.#digest = digest;
    this.#user = user;
    this.#sendOnce = sendOnce;
  }

  send(request: OutgoingRequest): void {
    this.#request = request;
    this.#uri = request.uri;
    // Within a dialog only the engine knows the request URI before it is sent.
    if (request.dialogId !== "") {
      this.#exchange = this.#sendOnce(request, this);
      return;
    }
    const { headers, answered } = this.#digest.foresee(request);
    this.#answered = answered;
    this.#exchange = this.#sendOnce({ ...request, headers: joined(request.headers, headers) }, this);
  }

  cancel(headers?: Headers): void {
    this.#cancelled = true;
    this.#exchange?.cancel(headers);
  }

  sent(callId: string, uri: string): void {
    this.#uri = uri;
    if (this.#answers === 0) this.#user.sent?.(callId, uri);
  }

  provisional(response: IncomingResponse): void {
    this.#user.provisional(response);
  }

  final(outcome: Outcome): void {
    if (outcome.kind !== "response" || !isChallenge(outcome.response.status)) this.#user.final(outcome);
    else if (this.#cancelled || !this.#answer(outcome.response)) {
      const detail = `challenged by ${outcome.response.status}`;
      this.#user.final({ kind: "refused", cause: "credentials", detail });
    }
  }

  #answer(response: IncomingResponse): boolean {
    const request = this.#request;
    if (!request || this.#answers >= maxAnswers) return false;
    const { method, body, dialogId } = request;
    const next = this.#digest.answer(response, { method, uri: this.#uri, body }, this.#answered);
    if (!next) return false;
    this.#answers++;
    this.#answered = next.answered;
    const same = dialogId === "" ? sameRequest(response) : {};
    const headers = { ...joined(request.headers, next.headers), ...same };
    this.#exchange = this.#sendOnce({ ...request, headers }, this);
    return true;
  }
}

const isChallenge = (status: number): boolean => status === 401 || status === 407;

/** What makes the next request a repetition of the one that was challenged. */
function sameRequest({ headers }: IncomingResponse): Record<string, string> {
  const [number = "", method = ""] = (headers.cseq ?? "").split(/\s+/);
  return {
    from: headers.from ?? "",
    "call-id": headers["call-id"] ?? "",
    cseq: `${Number(number) + 1} ${method}`,
  };
}

/** Credentials that the caller has given for others than this agent stay beside ours. */
function joined(headers: Headers, credentials: Headers): Headers {
  const all: Record<string, string> = { ...headers };
  for (const [name, value] of Object.entries(credentials)) {
    const theirs = all[name];
    all[name] = theirs === undefined ? value : `${theirs}, ${value}`;
  }
  return all;
}
