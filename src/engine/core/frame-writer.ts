import type { Clock } from "../../clock.ts";
import type { Flow } from "../transport/transport.ts";
import { linkId } from "./identifiers.ts";

/** Where a message came from or went to, as frames tell it. */
export interface Party {
  readonly protocol: string;
  readonly address: string;
  readonly port: number;
}

/** What stands for the peer in a response the engine made up itself: the application knows it by the empty address. */
export const nobody: Party = { protocol: "unknown", address: "", port: 0 };

export const remoteParty = (flow: Flow): Party => ({
  protocol: flow.protocol,
  address: flow.remoteAddress,
  port: flow.remotePort,
});

export const localParty = (flow: Flow): Party => ({
  protocol: flow.protocol,
  address: flow.localAddress,
  port: flow.localPort,
});

/** Composes the frames sent to applications. Positions of tokens are what drachtio-srf reads, so they never move. */
export class FrameWriter {
  readonly #clock: Clock;
  #second = -1;
  #secondText = "";

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A request that belongs to no dialog (yet), or the CANCEL of one. `receivedOn`: `host|port`, "" for CANCEL. */
  request(text: string, from: Party, txnId: string, receivedOn: string): string {
    return `${linkId()}|sip|${this.#network(text.length, from)}|${txnId}||${receivedOn}|\r\n${text}`;
  }

  /** A request inside a dialog, or any response. */
  inDialog(text: string, from: Party, txnId: string, dialogId: string, bytes = text.length): string {
    return `${linkId()}|sip|${this.#network(bytes, from)}|${txnId}|${dialogId}|\r\n${text}`;
  }

  /** A request the engine sent by itself, and tells the application of. */
  unsolicited(text: string, from: Party, dialogId: string): string {
    return `${linkId()}|sip|${this.#meta("application", text.length, from)}|unsolicited|${dialogId}|\r\n${text}`;
  }

  /** The request of frame `frameId` has been sent. */
  requestSent(frameId: string, text: string, party: Party, txnId: string): string {
    const meta = this.#meta("application", text.length, party);
    return `${linkId()}|response|${frameId}|OK|${meta}|${txnId}|Msg sent:|\r\n${text}`;
  }

  /** The response of frame `frameId` has been sent. The token after the dialog id stays empty: never `continue`. */
  responseSent(frameId: string, text: string, party: Party, txnId: string, dialogId: string): string {
    const meta = this.#meta("application", text.length, party);
    return `${linkId()}|response|${frameId}|OK|${meta}|${txnId}|${dialogId}||Msg sent:|\r\n${text}`;
  }

  /** What frame `frameId` asked for is done. */
  done(frameId: string, data = ""): string {
    return `${linkId()}|response|${frameId}|OK${data === "" ? "" : `|${data}`}`;
  }

  /** What frame `frameId` asked for cannot be done. */
  refused(frameId: string, reason: string): string {
    return `${linkId()}|response|${frameId}|NOK|${reason}`;
  }

  /** Frame `frameId` broke the protocol: the link is closed after this. */
  broken(frameId: string, reason: string): string {
    return `${linkId()}|response|${frameId}|NO|${reason}`;
  }

  #network(bytes: number, party: Party): string {
    return this.#meta("network", bytes, party);
  }

  #meta(source: string, bytes: number, { protocol, address, port }: Party): string {
    return `${source}|${bytes}|${protocol}|${address}|${port}|${this.#time()}`;
  }

  /** `HH:MM:SS.uuuuuu`, UTC. */
  #time(): string {
    const now = this.#clock.date();
    const second = Math.floor(now / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#secondText = new Date(second * 1_000).toISOString().slice(11, 19);
    }
    return `${this.#secondText}.${String(Math.floor(now - second * 1_000)).padStart(3, "0")}000`;
  }
}
