import type { Clock } from "../clock.ts";
import type { SignallingConfig } from "../config/config.ts";
import { placed } from "../engine/core/app-headers.ts";
import { SourceScreen } from "../engine/core/source-screen.ts";
import { splitValues } from "../engine/message/params.ts";
import { parseNameAddr, parseUri } from "./addresses.ts";
import type { EngineLink } from "./drachtio-signalling.ts";
import { LinkWatch } from "./link-watch.ts";
import { type Packing, unpacked } from "./packing.ts";
import type { Headers } from "./port.ts";
import type { RawMessage, RawSrf } from "./raw-srf.ts";

/** Longest pause between attempts to reach a drachtio-server that is down, in milliseconds. */
const retryMaxDelay = 5_000;

/**
 * drachtio-server reads up to 8,192 bytes at a time from an application into a ring of 12,228. A frame that is larger
 * than what is left overwrites its own beginning when it comes in two pieces and others follow; from then on the server
 * cannot read the link, and every call on it is lost. No message is worth that.
 */
const maxFrame = 12_228 - 8_192;

/** Bytes. In a longer value drachtio-server does not put its address for `localhost`, and a From it then refuses. */
const maxPlaced = 255;

/** Headers that may name `localhost`. */
const placeable = ["from", "contact"];

/** A drachtio-server over TCP. drachtio-srf looks for it again and again, at growing pauses. */
export class ExternalLink implements EngineLink {
  /** drachtio-server keeps 100 responses to itself. */
  readonly showsTrying = false;
  /** drachtio-server drops it. */
  readonly takesRoute = false;
  /** drachtio-server looks for the host in it and dies of finding none. */
  readonly takesStar = false;
  readonly packing: Packing = { ...unpacked, pack: (headers, body) => unpacked.pack(this.#placed(headers), body) };
  readonly sourceScreen: SourceScreen;
  /** Within a spiral it gives both legs the same dialog id, so what comes back is refused whatever its request URI. */
  readonly screens = false;
  readonly maxMessage = maxFrame;
  readonly #server: SignallingConfig["drachtio"];
  readonly #clock: Clock;
  /** `host:port` that the server sends from; "" where it has several to choose from. */
  #address = "";
  #srf: RawSrf | undefined;
  #watch: LinkWatch | undefined;

  constructor({ drachtio, sources = [] }: Pick<SignallingConfig, "drachtio" | "sources">, clock: Clock) {
    this.#server = drachtio;
    this.#clock = clock;
    this.sourceScreen = new SourceScreen(sources, clock);
  }

  /** drachtio-server looks for the host in the Contact of what makes a dialog, and dies of finding none. */
  leaves({ method, headers }: RawMessage): boolean {
    if ((method !== "INVITE" && method !== "SUBSCRIBE") || headers.contact === undefined) return false;
    const [first = ""] = splitValues(headers.contact);
    if (parseUri(parseNameAddr(first)?.uri ?? "")) return false;
    const links = this.#srf?._app.client.mapServer.values() ?? [];
    for (const { pendingNetworkInvites } of links) pendingNetworkInvites.delete(headers["call-id"] ?? "");
    return true;
  }

  get counters(): object {
    return { sources: this.sourceScreen.counters };
  }

  knowAgents(realm: string, addresses: readonly string[]): void {
    this.sourceScreen.know(realm, addresses);
  }

  async attach(srf: RawSrf): Promise<void> {
    this.#srf = srf;
    srf.on("connect", (_error: unknown, contacts = "") => {
      this.#address = onlyAddress(contacts);
    });
    srf.connect({ ...this.#server, reconnect: { retryMaxDelay } });
    this.#watch = new LinkWatch(srf, this.#clock);
  }

  async close(): Promise<void> {
    this.#watch?.stop();
    try {
      this.#srf?.disconnect();
    } catch {
      // drachtio-srf asserts that there is a connection to end; without one there is nothing to do.
    }
  }

  #placed(headers: Headers): Headers {
    if (this.#address === "") return headers;
    const long = placeable.filter((name) => Buffer.byteLength(headers[name] ?? "") > maxPlaced);
    if (long.length === 0) return headers;
    return {
      ...headers,
      ...Object.fromEntries(long.map((name) => [name, placed(headers[name] ?? "", this.#address)])),
    };
  }
}

/** Of `udp/192.0.2.1:5060,tcp/192.0.2.1:5060`; "" when there are several. */
function onlyAddress(contacts: string): string {
  const [address = "", ...others] = new Set(contacts.split(",").map((contact) => contact.replace(/^\w+\//, "")));
  return others.length === 0 ? address : "";
}
