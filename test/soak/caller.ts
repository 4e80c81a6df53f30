import type { Endpoint } from "../support/loopback.ts";
import { RawUa } from "../support/raw-ua.ts";
import { RawCall, responseTo, type SipText } from "../support/sip-text.ts";
import { kindOf } from "./kinds.ts";
import { Repeated } from "./repeated.ts";

/** How long a call may ring, as one does whose agent was restarted meanwhile, until its caller cancels it. Milliseconds. */
const ringing = 8_000;
/** How long a caller waits for the agent to hang up. */
const forgotten = 8_000;
/** A call that has not come to an end after this has been lost. */
const patience = 60_000;

interface Placed {
  readonly number: string;
  readonly call: RawCall;
  readonly timers: readonly NodeJS.Timeout[];
  repeated: Repeated;
  answer?: SipText;
  /** What was sent and received, with the milliseconds since it was placed. */
  readonly story: string[];
  readonly placedAt: number;
  /** A response has come, so that the INVITE has arrived. */
  heard?: true;
  cancelled?: true;
}

/** Places calls and ends each as its number says. */
export class SoakCaller {
  readonly #peer: Endpoint;
  readonly #ua: RawUa;
  readonly #ended: (number: string, end: string) => void;
  /** The stories of the first calls that ended as they should not. */
  readonly oddStories: string[] = [];
  readonly #open = new Map<string, Placed>();

  private constructor(ua: RawUa, peer: Endpoint, ended: (number: string, end: string) => void) {
    this.#ua = ua;
    this.#peer = peer;
    this.#ended = ended;
  }

  /** `ended` is told of each call's end: a final status, `hung up`, `was hung up on`, or `lost`. */
  static async open(
    local: Endpoint,
    peer: Endpoint,
    ended: (number: string, end: string) => void,
  ): Promise<SoakCaller> {
    const made: { caller?: SoakCaller } = {};
    const ua = await RawUa.open(local, ({ message, from }, self) => {
      self.received.length = 0;
      made.caller?.receive(message, from);
    });
    made.caller = new SoakCaller(ua, peer, ended);
    return made.caller;
  }

  /** Calls that have not ended. */
  get open(): number {
    return this.#open.size;
  }

  close(): void {
    this.#ua.close();
  }

  place(number: string): void {
    const call = new RawCall(this.#ua.local, this.#peer, number);
    const placed: Placed = {
      number,
      call,
      story: [],
      placedAt: performance.now(),
      timers: [setTimeout(() => this.#cancel(placed), ringing), setTimeout(() => this.#end(placed, "lost"), patience)],
      repeated: new Repeated(() => this.#send(call.invite(), call.callId)),
    };
    this.#open.set(call.callId, placed);
    if (number.startsWith("7")) this.#cancel(placed);
  }

  receive(message: SipText, from: Endpoint): void {
    const placed = this.#open.get(message.header("Call-ID"));
    if (placed) tell(placed, `< ${message.startLine} (${message.method})`);
    if (message.status === 0) {
      if (message.method === "ACK") return;
      this.#ua.send(responseTo(message, placed ? 200 : 481, "As Told", this.#ua.local), from);
      if (placed && message.method === "BYE") this.#end(placed, "was hung up on");
      return;
    }
    // Late or repeated: what it answers is over.
    if (!placed) return;
    if (message.method === "INVITE") this.#answered(placed, message);
    else if (message.method === "BYE" && message.status >= 200) this.#end(placed, "hung up");
  }

  #answered(placed: Placed, response: SipText): void {
    const { call, number } = placed;
    const { status } = response;
    placed.heard = true;
    if (status < 200) {
      if (!placed.cancelled) placed.repeated.answered();
      if (status === 180 && number.startsWith("6")) this.#cancel(placed);
      return;
    }
    if (status >= 300 || !number.startsWith("9")) this.#send(call.ack(response), call.callId);
    if (status >= 300) {
      this.#end(placed, String(status));
      return;
    }
    if (placed.answer) return;
    placed.answer = response;
    placed.repeated.answered();
    if (number.startsWith("9")) return;
    // An agent that was restarted knows of no call to hang up on, so the caller does at last.
    setTimeout(() => this.#hangUp(placed, response), number.startsWith("2") ? forgotten : 50);
  }

  #cancel(placed: Placed): void {
    if (placed.cancelled || placed.answer) return;
    placed.cancelled = true;
    placed.repeated.answered();
    placed.repeated = new Repeated(() => {
      const { call } = placed;
      if (!placed.heard) this.#send(call.invite(), call.callId);
      this.#send(call.cancel(), call.callId);
    });
  }

  #hangUp(placed: Placed, answer: SipText): void {
    if (!this.#open.has(placed.call.callId)) return;
    const bye = placed.call.request("BYE", answer);
    placed.repeated = new Repeated(() => this.#send(bye, placed.call.callId));
  }

  #end(placed: Placed, end: string): void {
    if (!this.#open.delete(placed.call.callId)) return;
    for (const timer of placed.timers) clearTimeout(timer);
    placed.repeated.answered();
    const expected = kindOf(placed.number).ends.includes(end);
    if (!expected && this.oddStories.length < 10) {
      this.oddStories.push(`${placed.number} ${placed.call.callId}: ${end}\n  ${placed.story.join("\n  ")}`);
    }
    this.#ended(placed.number, expected ? end : `${end} (not expected)`);
  }

  #send(text: string, callId: string): void {
    const placed = this.#open.get(callId);
    if (placed) tell(placed, `> ${text.slice(0, text.indexOf("\r"))}`);
    this.#ua.send(text, this.#peer);
  }
}

const tell = (placed: Placed, what: string): void => {
  placed.story.push(`${(performance.now() - placed.placedAt).toFixed(0)} ms ${what}`);
};
