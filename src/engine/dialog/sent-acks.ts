import type { SipMessage } from "../message/sip-message.ts";
import type { Flow } from "../transport/transport.ts";

/**
 * The ACKs sent for the 2xx responses to one INVITE, one per fork: each repeated 2xx gets its ACK again (RFC 3261 section
 * 13.2.2.4). Lives as long as the INVITE's client transaction, which passes repeated 2xx up for 64*T1.
 */
export class SentAcks {
  /** Almost always one. */
  readonly #sent: { readonly toTag: string; readonly text: string; readonly flow: Flow }[] = [];

  /** Sends the ACK of the 2xx with this To tag. */
  send(toTag: string, text: string, flow: Flow): void {
    this.#sent.push({ toTag, text, flow });
    flow.send(text);
  }

  /** Sends the ACK again that this 2xx has had; false if it has had none yet. */
  repeat(response: SipMessage): boolean {
    const ack = this.#sent.findLast(({ toTag }) => toTag === response.toTag);
    ack?.flow.send(ack.text);
    return ack !== undefined;
  }
}
