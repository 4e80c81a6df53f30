import { parseMessage, SipMessage } from "../message/sip-message.ts";
import { hostPort } from "../message/uri.ts";
import { responseTo } from "../message/write.ts";
import type { ClientTransaction, ClientTransactionUser } from "../transaction/users.ts";
import { failureText } from "../transport/failure-text.ts";
import type { Flow } from "../transport/transport.ts";
import type { AppSession } from "./app-session.ts";
import type { CoreContext } from "./context.ts";
import { nobody, type Party, remoteParty } from "./frame-writer.ts";
import { linkId, newTag } from "./identifiers.ts";

/** Early dialogs kept of one request. More forks than that are an attack on memory. */
export const maxForks = 32;

/** What is needed of a request outside any dialog, once it is sent, for the dialog that it may make. */
export interface RequestSent {
  readonly requestUri: string;
  /** The application's own, undefined when it gave none. */
  readonly contact: string | undefined;
  /** The path by which alone the peer is reached, "" where its own Contact will say. */
  readonly path: string;
  /** `host:port` of the listener that it left from. */
  readonly listener: string;
}

/** A request sent for an application, which gets exactly one final response to it, made up by the engine if need be. */
export abstract class OutgoingRequest implements ClientTransactionUser {
  /** The transaction id on the link. */
  readonly id = linkId();
  readonly method: string;
  readonly owner: AppSession;
  /** What responses tell as dialog id; "" when the request makes no dialog and is in none. */
  dialogId: string;
  protected readonly core: CoreContext;
  #client: ClientTransaction | undefined = undefined;
  #flow: Flow | undefined = undefined;
  /** The request's text while it may be needed for a made-up response. */
  #text = "";
  #over = false;

  constructor(core: CoreContext, owner: AppSession, method: string, dialogId: string) {
    this.core = core;
    this.owner = owner;
    this.method = method;
    this.dialogId = dialogId;
  }

  /** Whether it has had its final response. */
  get over(): boolean {
    return this.#over;
  }

  /** Takes the request on: from now on the application is owed a final response. */
  accept(text: string): void {
    this.#text = text;
    this.core.outgoing.set(this.id, this);
    this.core.counters.requestsSent++;
  }

  /** Sends the request that was accepted. `branch`: of its Via. */
  send(branch: string, flow: Flow): void {
    this.#flow = flow;
    this.#client = this.core.layer.request({ method: this.method, branch, text: this.#text }, flow, this);
  }

  /** RFC 3261 section 9.1; `headers`: whole lines. False when there is nothing to cancel any more. */
  cancel(headers = ""): boolean {
    if (this.#over || this.method !== "INVITE") return false;
    this.#client?.cancel(headers);
    return true;
  }

  response(response: SipMessage, flow: Flow): void {
    if (response.status >= 200) this.end();
    if (this.take(response, flow))
      this.#tell(this.owner.dialect.show(response), response.text.length, remoteParty(flow));
  }

  timeout(): void {
    this.core.counters.localTimeouts++;
    this.makeUp(408);
  }

  transportFailure(error: Error): void {
    const flow = this.#flow;
    if (this.#over || flow === undefined) return;
    this.core.counters.localFailures++;
    const { protocol, remoteAddress, remotePort } = flow;
    const reason = failureText(error, protocol);
    const request = parseMessage(this.#text, { lenient: true });
    this.core.undelivered.tell({
      peer: `${protocol}://${hostPort(remoteAddress, remotePort)}`,
      method: this.method,
      "call-id": request instanceof SipMessage ? request.callId : "",
      reason,
    });
    this.makeUp(503, asPhrase(reason));
  }

  /** Ends the request by a response that the peer never gave. */
  makeUp(status: number, phrase?: string): void {
    if (this.#over) return;
    const request = parseMessage(this.#text, { lenient: true });
    this.end();
    this.failed(status);
    if (!(request instanceof SipMessage)) return;
    const toTag = newTag();
    const text = responseTo(request, status, phrase === undefined ? { toTag } : { toTag, phrase }).body();
    this.#tell(this.owner.dialect.showOwn(text), 0, nobody);
  }

  /** A response has come. False: the application is not to see it. */
  protected abstract take(response: SipMessage, flow: Flow): boolean;

  /** There will be no response; `status`: of the one made up in its place. */
  protected abstract failed(status: number): void;

  protected end(): void {
    this.#over = true;
    this.#text = "";
    this.#flow = undefined;
    this.core.outgoing.delete(this.id);
  }

  #tell(text: string, bytes: number, party: Party): void {
    this.owner.deliver(this.core.frames.inDialog(text, party, this.id, this.dialogId, bytes));
  }
}

/** The longest reason phrase that is made of the words of others. */
const maxPhrase = 200;

/** Text of the system or of a peer's certificate as a reason phrase: one line of what can be printed. */
const asPhrase = (text: string): string => text.replaceAll(/[^\x20-\x7e]+/g, " ").slice(0, maxPhrase);
