import { RawUa } from "./raw-ua.ts";
import { RawCall, responseTo, type SipText } from "./sip-text.ts";
import type { Weir } from "./weir.ts";

/** A caller that places calls and holds them until it is told to hang up, so that no test has to guess for how long. */
export class Holder {
  readonly #weir: Weir;
  readonly #ua: RawUa;
  readonly #held: { readonly call: RawCall; readonly answer: SipText }[] = [];

  private constructor(weir: Weir, ua: RawUa) {
    this.#weir = weir;
    this.#ua = ua;
  }

  /** A caller at a place of its own, or at an agent's, whose calls are then inbound sessions of that agent. */
  static async at(weir: Weir, agent?: string): Promise<Holder> {
    const local = agent === undefined ? await weir.caller() : weir.agent(agent);
    const ua = await RawUa.open(local, ({ message, from }, self) => {
      // The other side may hang up.
      if (!message.status && message.method !== "ACK") self.send(responseTo(message, 200, "OK", local), from);
    });
    return new Holder(weir, ua);
  }

  /** The final response to a new call; an answered one is acknowledged and held, a refused one is acknowledged. */
  async call(number: string): Promise<SipText> {
    const call = new RawCall(this.#ua.local, this.#weir.listen, number);
    this.#ua.send(call.invite(), this.#weir.listen);
    const final = await this.#ua.final(call.callId);
    this.#ua.send(call.ack(final), this.#weir.listen);
    if (final.status < 300) this.#held.push({ call, answer: final });
    return final;
  }

  /** Hangs up the call held longest and waits for the answer to the BYE; undefined when none is held. */
  async hangUp(): Promise<SipText | undefined> {
    const held = this.#held.shift();
    if (!held) return undefined;
    const { call, answer } = held;
    this.#ua.send(call.request("BYE", answer), this.#weir.listen);
    return this.#ua.receive(
      "an answer to BYE",
      (m) => m.method === "BYE" && m.status >= 200 && m.header("Call-ID") === call.callId,
    );
  }

  /** Every message that the other side sent on its own: BYEs among them. */
  get requests(): readonly SipText[] {
    return this.#ua.received.map(({ message }) => message).filter(({ status }) => status === 0);
  }

  /** Hangs up all calls and closes. */
  async close(): Promise<void> {
    while (await this.hangUp());
    this.#ua.close();
  }
}
