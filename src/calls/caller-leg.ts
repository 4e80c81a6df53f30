import { isSips } from "../signalling/addresses.ts";
import type { IncomingRequest, IncomingResponse, Reply } from "../signalling/port.ts";
import { addOption, callersDialog, contactOf, hasOption, relayedReply } from "./headers.ts";
import type { Treat } from "./relay.ts";

/** The caller's INVITE until its final response; what an answered call needs of it is in the call's record. */
export class CallerLeg {
  readonly invite: IncomingRequest;
  readonly callId: string;
  readonly dialogId: string;
  readonly #reliable: boolean;
  readonly #onlyReliable: boolean;
  #earlyMedia = false;
  /** Reliable provisional responses that wait for the caller's PRACK, in order; undefined for an agent given up since. */
  #unacknowledged: (IncomingResponse | undefined)[] = [];

  constructor(invite: IncomingRequest) {
    const { headers } = invite;
    this.invite = invite;
    this.callId = headers["call-id"] ?? "";
    this.dialogId = callersDialog(headers);
    this.#onlyReliable = hasOption(headers.require, "100rel");
    this.#reliable = this.#onlyReliable || hasOption(headers.supported, "100rel");
  }

  /** The parameter that a URI needs by which the caller is to reach us: "" for UDP. */
  get transport(): string {
    const { protocol } = this.invite.source;
    return protocol === "udp" ? "" : `;transport=${protocol}`;
  }

  get #secure(): boolean {
    return this.invite.source.protocol === "tls" && isSips(this.invite.uri);
  }

  /** True once the caller has been sent a provisional response with a body. */
  get earlyMedia(): boolean {
    return this.#earlyMedia;
  }

  /** Without a body the offer comes from the agent, and the caller's answer in the ACK (RFC 3261 section 13.2.1). */
  get lateOffer(): boolean {
    return this.invite.body === "";
  }

  /**
   * Passes a provisional response on. True when the caller's PRACK will settle it; otherwise a reliable one is the
   * attempt's to acknowledge, as the caller knows no PRACK.
   */
  progress(response: IncomingResponse, treat: Treat): boolean {
    const reply = this.#reply(response, treat);
    const reliable = this.#onlyReliable || (this.#reliable && response.reliable);
    if (reliable) {
      addOption(reply.headers, "require", "100rel");
      // The engine keeps the next one back until this one is acknowledged (RFC 3262 section 3), so PRACKs come in order.
      this.#unacknowledged.push(response);
    }
    if (response.body !== "") this.#earlyMedia = true;
    this.invite.respond(reply);
    return reliable;
  }

  /** The provisional response that a PRACK of the caller acknowledges; undefined when no agent waits for it. */
  takeAcknowledged(): IncomingResponse | undefined {
    return this.#unacknowledged.shift();
  }

  /** The agent whose responses were passed on so far is given up: its PRACKs end here. */
  leaveAgent(): void {
    this.#unacknowledged.fill(undefined);
  }

  answer(response: IncomingResponse, treat: Treat, refused: (reason: string) => void): void {
    this.invite.respond(this.#reply(response, treat), (reason) => {
      if (reason !== undefined) refused(reason);
    });
  }

  refuse(reply: Reply): void {
    this.invite.respond(reply);
  }

  /** A response passed on that makes a dialog: every one shows the same Contact. */
  #reply(response: IncomingResponse, treat: Treat) {
    const reply = relayedReply(response);
    treat(reply.headers);
    const contact = contactOf(response.headers.contact, this.transport, this.#secure);
    if (contact) reply.headers.contact = contact;
    return reply;
  }
}
