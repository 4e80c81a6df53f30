import type { Endpoint } from "../support/loopback.ts";
import { RawUa } from "../support/raw-ua.ts";
import { byeAfter, responseTo, type SipText } from "../support/sip-text.ts";
import { Repeated } from "./repeated.ts";

const rejections = [404, 486, 603];

/** An agent that does with each call what its number says, and that may be restarted at any time, forgetting everything. */
export class SoakAgent {
  readonly local: Endpoint;
  /** Calls it was sent. */
  calls = 0;
  restarts = 0;
  readonly #index: number;
  readonly #peer: Endpoint;
  #ua: RawUa | undefined;
  /** By Call-ID: what is sent until it is acknowledged or answered; undefined while there is no such thing. */
  readonly #dialogs = new Map<string, { invite: SipText; from: Endpoint; repeated?: Repeated }>();

  /** `index`: agents of even index answer some calls with 503 that the others take. */
  constructor(index: number, local: Endpoint, peer: Endpoint) {
    this.#index = index;
    this.local = local;
    this.#peer = peer;
  }

  /** Calls it holds. */
  get open(): number {
    return this.#dialogs.size;
  }

  async start(): Promise<void> {
    this.#ua = await RawUa.open(this.local, ({ message, from }, ua) => {
      ua.received.length = 0;
      this.#receive(message, from);
    });
  }

  stop(): void {
    for (const { repeated } of this.#dialogs.values()) repeated?.answered();
    this.#dialogs.clear();
    this.#ua?.close();
    this.#ua = undefined;
  }

  /** Down for half a second. */
  async restart(): Promise<void> {
    this.restarts++;
    this.stop();
    await new Promise((resolve) => setTimeout(resolve, 500));
    await this.start();
  }

  #receive(message: SipText, from: Endpoint): void {
    const callId = message.header("Call-ID");
    const dialog = this.#dialogs.get(callId);
    if (message.status) {
      // Only a BYE of its own is ever answered.
      dialog?.repeated?.answered();
      this.#dialogs.delete(callId);
      return;
    }
    switch (message.method) {
      case "INVITE":
        if (!dialog) this.#invited(message, from, callId);
        break;
      case "ACK":
        if (dialog) this.#acknowledged(message, callId, dialog);
        break;
      case "CANCEL":
        this.#send(message, 200, from);
        if (!dialog) break;
        dialog.repeated?.answered();
        this.#send(dialog.invite, 487, from);
        this.#dialogs.delete(callId);
        break;
      case "BYE":
        dialog?.repeated?.answered();
        this.#dialogs.delete(callId);
        this.#send(message, dialog ? 200 : 481, from);
        break;
      default:
        this.#send(message, 200, from);
    }
  }

  #invited(invite: SipText, from: Endpoint, callId: string): void {
    this.calls++;
    const kind = numberIn(invite)[0];
    if (kind === "8") return;
    const status = kind === "4" ? rejections[this.calls % rejections.length] : undefined;
    const refusal = kind === "5" && this.#index % 2 === 0 ? 503 : status;
    if (refusal !== undefined) {
      this.#send(invite, refusal, from);
      return;
    }
    this.#dialogs.set(callId, { invite, from });
    this.#send(invite, 180, from);
    if (kind !== "6") setTimeout(() => this.#answer(callId), 20);
  }

  #answer(callId: string): void {
    const dialog = this.#dialogs.get(callId);
    if (!dialog || dialog.repeated) return;
    dialog.repeated = new Repeated(() => this.#send(dialog.invite, 200, dialog.from));
  }

  #acknowledged(ack: SipText, callId: string, dialog: { invite: SipText; repeated?: Repeated }): void {
    if (!dialog.repeated) return;
    dialog.repeated.answered();
    const kind = numberIn(dialog.invite)[0];
    if (kind !== "2" && kind !== "3") return;
    setTimeout(() => {
      if (this.#dialogs.get(callId) !== dialog) return;
      const bye = byeAfter(ack, this.local, this.#peer);
      dialog.repeated = new Repeated(() => this.#ua?.send(bye, this.#peer));
    }, 50);
  }

  #send(request: SipText, status: number, to: Endpoint): void {
    this.#ua?.send(responseTo(request, status, "As Told", this.local), to);
  }
}

const numberIn = (invite: SipText): string => /^sip:(\d+)@/.exec(invite.requestUri)?.[1] ?? "";
