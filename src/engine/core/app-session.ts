import type { AppLink, AppPeer } from "../link/app-link.ts";
import { type Frame, parseFrame } from "../link/frames.ts";
import { SipMessage } from "../message/sip-message.ts";
import { type Dialect, packedDialect, wholeDialect } from "./dialect.ts";
import type { FrameWriter } from "./frame-writer.ts";

/** A `sip` frame from an application: a request to send, or the response to one it was given. */
export interface AppMessage {
  readonly frameId: string;
  readonly txnId: string;
  readonly dialogId: string;
  /** The next hop the application chose (its `proxy` option); "" = by Request-URI. */
  readonly nextHop: string;
  readonly message: SipMessage;
}

/** What a session asks of the core. */
export interface AppSessionUser {
  /** The `host:port` list of what the engine listens on, as told at authentication: `udp/127.0.0.1:5060,…`. */
  readonly hostports: string;
  readonly version: string;
  appRequest(app: AppMessage, session: AppSession): void;
  appResponse(app: AppMessage, session: AppSession): void;
  /** The application has forgotten all it had under way (it authenticated again on the same link). */
  appRestarted(session: AppSession): void;
  appGone(session: AppSession): void;
}

/** One connected application: its authentication, the methods it takes, and the frames that go to it. */
export class AppSession implements AppPeer {
  readonly link: AppLink;
  readonly frames: FrameWriter;
  readonly dialect: Dialect;
  readonly #user: AppSessionUser;
  readonly #verbs = new Set<string>();
  #state: "strange" | "known" | "gone" = "strange";

  constructor(link: AppLink, frames: FrameWriter, user: AppSessionUser) {
    this.link = link;
    this.frames = frames;
    this.dialect = link.packed ? packedDialect : wholeDialect;
    this.#user = user;
  }

  /** False once the link is down. */
  get here(): boolean {
    return this.#state === "known";
  }

  /** Whether requests with this method (lower case) may be given to the application. */
  takes(verb: string): boolean {
    return this.#state === "known" && (this.link.routesEverything || this.#verbs.has(verb));
  }

  deliver(payload: string, apart?: boolean): void {
    if (this.#state !== "gone") this.link.deliver(payload, apart);
  }

  refuse(frameId: string, reason: string): void {
    this.deliver(this.frames.refused(frameId, reason));
  }

  receive(payload: string): void {
    if (this.#state === "gone") return;
    const frame = parseFrame(payload);
    if (frame.type === "authenticate") this.#authenticate(frame);
    else if (this.#state === "strange") this.#break(frame, "not authenticated");
    else this.#handle(frame);
  }

  closed(): void {
    if (this.#state === "gone") return;
    this.#state = "gone";
    this.#user.appGone(this);
  }

  #handle(frame: Frame): void {
    const verb = frame.tokens[2] ?? "";
    switch (frame.type) {
      case "ping":
        this.deliver(this.frames.done(frame.id, "pong"));
        return;
      case "route":
        this.#verbs.add(verb.toLowerCase());
        this.deliver(this.frames.done(frame.id));
        return;
      case "remove_route":
        this.#verbs.delete(verb.toLowerCase());
        this.deliver(this.frames.done(frame.id));
        return;
      case "sip":
        this.#sip(frame);
        return;
      case "proxy":
        this.refuse(frame.id, "proxy is not supported");
        return;
      default:
        this.#break(frame, `unknown message type: ${frame.type}`);
        return;
    }
  }

  #authenticate(frame: Frame): void {
    const { secret } = this.link;
    const right = secret === undefined || frame.tokens[2] === secret;
    this.link.authenticated?.(right);
    if (!right) {
      this.#break(frame, "incorrect secret");
      return;
    }
    const restarted = this.#state === "known";
    this.#state = "known";
    const { hostports, version } = this.#user;
    this.deliver(this.frames.done(frame.id, `${hostports}|${version}|${hostports}`));
    if (restarted) this.#user.appRestarted(this);
  }

  #sip(frame: Frame): void {
    const message = this.dialect.read(frame.text);
    if (!(message instanceof SipMessage)) {
      this.refuse(frame.id, `unable to parse message: ${message.reason}`);
      return;
    }
    const [, , txnId = "", dialogId = "", nextHop = ""] = frame.tokens;
    const app = { frameId: frame.id, txnId, dialogId, nextHop, message };
    if (message.isRequest) this.#user.appRequest(app, this);
    else if (txnId === "") this.#break(frame, "transaction id missing");
    else this.#user.appResponse(app, this);
  }

  #break(frame: Frame, reason: string): void {
    this.deliver(this.frames.broken(frame.id, reason));
    this.link.close();
  }
}
