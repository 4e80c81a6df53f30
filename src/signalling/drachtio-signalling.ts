import Srf from "drachtio-srf";
import type { SourceScreen } from "../engine/core/source-screen.ts";
import { parseNameAddr } from "../engine/message/name-addr.ts";
import type { ErrorCode } from "../errors.ts";
import type { Credentials } from "../secret.ts";
import { ChallengedExchange } from "./challenged-exchange.ts";
import { DigestClient } from "./digest-client.ts";
import { DrachtioExchange, type ExchangeHost } from "./drachtio-exchange.ts";
import { DrachtioRequest, plainReply, textOf } from "./incoming.ts";
import { judge, refusalReply } from "./outside-screen.ts";
import type { Packing } from "./packing.ts";
import type { Exchange, ExchangeUser, OutgoingRequest, Signalling, SignallingUser } from "./port.ts";
import type { RawMessage, RawRequest, RawResponse, RawSrf } from "./raw-srf.ts";

/** The engine behind drachtio-srf: embedded in this process, or a drachtio-server elsewhere. */
export interface EngineLink {
  /** Whether it shows 100 responses to INVITE. */
  readonly showsTrying: boolean;
  /** As `Signalling.takesRoute`. */
  readonly takesRoute: boolean;
  /** As `Signalling.takesStar`. */
  readonly takesStar: boolean;
  readonly counters: object | undefined;
  /**
   * Whether it refuses an INVITE of its own that has come back (RFC 3261 section 16.3), and one to what is no address of
   * a kind we know (section 8.2.2.1).
   */
  readonly screens: boolean;
  /** Whether a request is left without an answer, which would bring the engine down. */
  leaves?(request: RawMessage): boolean;
  /** Judges the sources of requests, where the engine does not do so itself. */
  readonly sourceScreen?: SourceScreen;
  /** Bytes of the largest message it takes from an application. */
  readonly maxMessage: number;
  /** How messages pass through drachtio-srf to it and back. */
  readonly packing: Packing;
  /**
   * Links `srf` to the engine. The embedded one is listening when this is done; an external one may still be out of
   * reach, and is tried again until it answers. Throws WEIR_LISTEN_FAILED.
   */
  attach(srf: RawSrf): Promise<void>;
  close(): Promise<void>;
  /** As `Signalling.knowAgents`. */
  knowAgents(realm: string, addresses: readonly string[]): void;
}

export interface SignallingLog {
  error(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  info(detail: object, message: string): void;
  debug(detail: object, message: string): void;
}

const unreachable = "WEIR_ENGINE_UNREACHABLE" satisfies ErrorCode;

/** drachtio-server sends an application only the methods it asked for; what is within a dialog comes without asking. */
const routedMethods = "invite register options info message notify subscribe publish refer prack update".split(" ");

/** Of request URIs that a call may have. */
const knownScheme = /^(?:sips?|tel):/i;

/** `Signalling` on drachtio-srf's raw calls: no Dialog objects and no promises, so no race between a 200 and what follows. */
export class DrachtioSignalling implements Signalling {
  readonly #link: EngineLink;
  readonly #log: SignallingLog;
  readonly #srf: RawSrf = createRawSrf();
  readonly #digests: ReadonlyMap<string, DigestClient>;
  readonly #host: ExchangeHost;
  /** Call-IDs of INVITEs on their way, where the engine does not know them again. */
  readonly #ownInvites = new Set<string>();
  #user: SignallingUser | undefined;
  readonly #whenLost: (() => void)[] = [];
  #connected = false;
  /** Whether it has been out of reach since it was last connected. */
  #away = false;
  /** Whether an error has told why the link is about to close. */
  #explained = false;
  /** An embedded engine knows its application before it has bound its addresses. */
  #attached = false;

  /** `credentials`: by hostname of the agent that they satisfy. */
  constructor(link: EngineLink, log: SignallingLog, credentials: ReadonlyMap<string, Credentials> = new Map()) {
    this.#link = link;
    this.#log = log;
    this.#digests = new Map(Array.from(credentials, ([agent, its]) => [agent, new DigestClient(its)]));
    this.#host = {
      srf: this.#srf,
      packing: link.packing,
      guard: (work) => this.#guard(work),
      maxMessage: link.maxMessage,
      ownInvites: link.screens ? undefined : this.#ownInvites,
      onUpdate: (request, response) => this.#receive(request, response),
    };
  }

  get connected(): boolean {
    return this.#connected && this.#attached;
  }

  get showsTrying(): boolean {
    return this.#link.showsTrying;
  }

  get takesRoute(): boolean {
    return this.#link.takesRoute;
  }

  get takesStar(): boolean {
    return this.#link.takesStar;
  }

  get engineCounters(): object | undefined {
    return this.#link.counters;
  }

  async start(user: SignallingUser): Promise<void> {
    this.#user = user;
    const srf = this.#srf;
    // Nothing may be left unhandled: drachtio-srf would answer 404 and hang up on the engine.
    srf.use((request, response) => this.#receive(request, response));
    for (const method of routedMethods) srf.use(method, () => {});
    srf.on("close", () => this.#closed());
    srf.on("error", (error: Error) => {
      this.#explained = true;
      this.#lost(error.message);
    });
    srf.on("connect", (error: unknown) => {
      if (error) this.#log.error({ code: unreachable, reason: textOf(error) }, "signalling engine refused us");
      else this.#found();
    });
    await this.#link.attach(srf);
    this.#attached = true;
  }

  async stop(): Promise<void> {
    this.#connected = false;
    this.#user = undefined;
    await this.#link.close();
  }

  knowAgents(realm: string, addresses: readonly string[]): void {
    this.#link.knowAgents(realm, addresses);
  }

  whenLost(listener: () => void): void {
    this.#whenLost.push(listener);
  }

  send(request: OutgoingRequest, user: ExchangeUser): Exchange {
    const digest = request.peer === undefined ? undefined : this.#digests.get(request.peer);
    if (!digest) return this.#send(request, user);
    const exchange = new ChallengedExchange(digest, user, (each, its) => this.#send(each, its));
    exchange.send(request);
    return exchange;
  }

  #send(request: OutgoingRequest, user: ExchangeUser): Exchange {
    const exchange = new DrachtioExchange(this.#host, user);
    exchange.send(request);
    return exchange;
  }

  #found(): void {
    this.#connected = true;
    if (this.#away) this.#log.info({}, "signalling engine back");
    this.#away = false;
    this.#guard(() => this.#user?.connected());
  }

  /** An error has said why already. */
  #closed(): void {
    if (!this.#explained) this.#lost("closed");
    this.#explained = false;
  }

  #lost(reason: string): void {
    // We have ended it ourselves.
    if (this.#user === undefined) return;
    this.#away = true;
    if (!this.#connected) {
      this.#log.warn({ code: unreachable, reason }, "signalling engine out of reach");
      return;
    }
    this.#connected = false;
    this.#ownInvites.clear();
    this.#log.error({ code: unreachable, reason }, "signalling engine lost");
    this.#guard(() => this.#user?.disconnected());
    for (const listener of this.#whenLost) this.#guard(listener);
  }

  #receive(raw: RawRequest, response: RawResponse): void {
    this.#guard(
      () => this.#dispatch(raw, response),
      () => new DrachtioRequest(raw, response, this.#host).respond(plainReply(500, "Server Internal Error")),
    );
  }

  #dispatch(raw: RawRequest, response: RawResponse): void {
    const user = this.#user;
    if (!user) return;
    const dialogId = raw.stackDialogId ?? "";
    const { packing } = this.#link;
    const { method } = raw.msg;
    if (raw.source === "application") {
      if (method === "BYE") user.dialogEnded(dialogId, packing.unpack(raw.msg).headers.reason ?? "");
      return;
    }
    if (method === "ACK") {
      user.ack({ dialogId, ...packing.unpack(raw.msg) });
      return;
    }
    if (this.#link.leaves?.(raw.msg)) {
      this.#log.debug({ method, source: raw.source_address }, "request left without an answer");
      return;
    }
    const request = new DrachtioRequest(raw, response, this.#host);
    const refusal = this.#link.sourceScreen && judge(this.#link.sourceScreen, raw);
    if (refusal) {
      request.respond(refusalReply(refusal));
      return;
    }
    if (method !== "INVITE") {
      user.request(request);
      return;
    }
    raw.on("cancel", (cancel: RawMessage) => this.#guard(() => request.onCancel?.(packing.unpack(cancel).headers)));
    raw.on("update", this.#host.onUpdate);
    const { headers, uri } = request;
    if (parseNameAddr(headers.to ?? "")?.tag) user.request(request);
    else if (this.#ownInvites.has(headers["call-id"] ?? "")) request.respond(plainReply(482, "Loop Detected"));
    else if (!this.#link.screens && !knownScheme.test(uri)) request.respond(plainReply(416, "Unsupported URI Scheme"));
    else user.invite(request);
  }

  /** Nothing may throw through drachtio-srf: it would drop the link, or the process. */
  #guard(work: () => void, failed?: () => void): void {
    try {
      work();
    } catch (error) {
      this.#log.error({ err: error }, "defect in signalling");
      if (failed) this.#guard(failed);
    }
  }
}

/** The typings of drachtio-srf know nothing of raw calls. */
const createRawSrf = (): RawSrf => new (Srf as unknown as new () => RawSrf)();
