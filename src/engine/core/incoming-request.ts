import type { Clock, Ms, Timer } from "../../clock.ts";
import type { SipMessage } from "../message/sip-message.ts";
import type { ServerTransaction } from "../transaction/server-transaction.ts";
import type { AppSession } from "./app-session.ts";
import type { EngineDialog } from "./engine-dialog.ts";
import { linkId } from "./identifiers.ts";
import type { ReliableProvisionals } from "./reliable-provisionals.ts";

/** A request from the network that an application is to answer. */
export class IncomingRequest {
  /** The transaction id on the link. */
  readonly id = linkId();
  readonly server: ServerTransaction;
  readonly owner: AppSession;
  /** The dialog it came in, or the one its responses have begun. */
  dialog: EngineDialog | undefined;
  /** The last status the application gave, 0 before. */
  status = 0;
  /** RFC 3262, once the application has sent a reliable provisional response. */
  reliable: ReliableProvisionals | undefined = undefined;
  #patience: Timer | undefined;

  constructor(server: ServerTransaction, owner: AppSession, dialog?: EngineDialog) {
    this.server = server;
    this.owner = owner;
    this.dialog = dialog;
  }

  get request(): SipMessage {
    return this.server.request;
  }

  get method(): string {
    return this.server.request.method;
  }

  /** Calls `late` unless `answered` comes first. */
  waitForAnswer(clock: Clock, patience: Ms, late: () => void): void {
    this.#patience = clock.after(patience, late);
  }

  /** The application has given a response. */
  answered(status: number): void {
    this.status = status;
    this.#patience?.cancel();
  }

  /** Nothing will be sent any more. */
  end(): void {
    this.#patience?.cancel();
    this.reliable?.end();
  }
}

/** The requests that wait for an answer, by the id applications know and by transaction. */
export class IncomingRequests {
  readonly #byId = new Map<string, IncomingRequest>();
  /** Only what can be cancelled is looked for by its transaction. */
  readonly #invites = new Map<ServerTransaction, IncomingRequest>();

  get size(): number {
    return this.#byId.size;
  }

  [Symbol.iterator](): Iterator<IncomingRequest> {
    return this.#byId.values();
  }

  add(incoming: IncomingRequest): void {
    this.#byId.set(incoming.id, incoming);
    if (incoming.method === "INVITE") this.#invites.set(incoming.server, incoming);
  }

  get(id: string): IncomingRequest | undefined {
    return this.#byId.get(id);
  }

  /** The INVITE of this transaction. */
  of(server: ServerTransaction): IncomingRequest | undefined {
    return this.#invites.get(server);
  }

  delete(incoming: IncomingRequest): void {
    incoming.end();
    this.#byId.delete(incoming.id);
    this.#invites.delete(incoming.server);
  }
}
