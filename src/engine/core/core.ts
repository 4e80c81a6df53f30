import type { Clock } from "../../clock.ts";
import type { SourceRefusal } from "../../source-rules.ts";
import type { AppLink, AppPeer } from "../link/app-link.ts";
import type { MalformedMessage, SipMessage } from "../message/sip-message.ts";
import { type MessageWriter, responseTo } from "../message/write.ts";
import type { ServerTransaction } from "../transaction/server-transaction.ts";
import type { TimerValues } from "../transaction/timers.ts";
import { TransactionLayer } from "../transaction/transaction-layer.ts";
import type { TransactionUser } from "../transaction/users.ts";
import { type Flow, stampVia, type Target } from "../transport/transport.ts";
import { AppRegistry } from "./app-registry.ts";
import { type AppMessage, AppSession, type AppSessionUser } from "./app-session.ts";
import type { CoreContext, EngineLog } from "./context.ts";
import { newCoreCounters } from "./counters.ts";
import { EngineDialogs } from "./engine-dialog.ts";
import { FrameWriter } from "./frame-writer.ts";
import { hangUp } from "./hang-up.ts";
import { newTag } from "./identifiers.ts";
import { InDialog } from "./in-dialog.ts";
import { IncomingRequests } from "./incoming-request.ts";
import { Uac } from "./uac.ts";
import { Uas } from "./uas.ts";
import { Undelivered } from "./undelivered.ts";
import { type Names, WayOut, type Ways } from "./way-out.ts";

/** What applications are told at authentication. drachtio-srf pings only a server that calls itself v0.8.2 or later. */
const version = "v0.9.5-weir";

export interface CoreOptions {
  readonly clock: Clock;
  readonly timers: TimerValues;
  readonly log: EngineLog;
  readonly transports: Ways & {
    responseFlow(request: SipMessage, flow: Flow): Flow;
    liveFlow(flow: Flow): Flow;
    readonly listening: readonly Target[];
  };
  readonly names: Names;
}

/** The user agent between the network's transactions and the applications' frames. */
export class Core implements TransactionUser, AppSessionUser {
  readonly context: CoreContext;
  readonly version = version;
  readonly #listening: () => readonly Target[];
  readonly #responseFlow: (request: SipMessage, flow: Flow) => Flow;
  readonly #uas: Uas;
  readonly #uac: Uac;
  readonly #inDialog: InDialog;

  constructor({ clock, timers, log, transports, names }: CoreOptions) {
    this.#listening = () => transports.listening;
    this.#responseFlow = (request, flow) => transports.responseFlow(request, flow);
    this.context = {
      clock,
      timers,
      log,
      undelivered: new Undelivered(clock, log),
      counters: newCoreCounters(),
      frames: new FrameWriter(clock),
      layer: new TransactionLayer({ transports, clock, timers, user: this }),
      way: new WayOut(transports, names),
      apps: new AppRegistry(),
      dialogs: new EngineDialogs(clock, timers),
      incoming: new IncomingRequests(),
      outgoing: new Map(),
      subscribing: new Map(),
      ownInvites: new Map(),
    };
    this.#uas = new Uas(this.context);
    this.#uac = new Uac(this.context);
    this.#inDialog = new InDialog(this.context, this.#uas);
  }

  get hostports(): string {
    return this.#listening()
      .map(({ protocol, address, port }) => `${protocol}/${address.includes(":") ? `[${address}]` : address}:${port}`)
      .join(",");
  }

  attach(link: AppLink): AppPeer {
    const session = new AppSession(link, this.context.frames, this);
    this.context.apps.add(session);
    return session;
  }

  receive(message: SipMessage, flow: Flow): void {
    this.context.layer.receive(message, flow);
  }

  /** Whether a request is within a dialog, or repeats one that was received before. */
  knows(request: SipMessage): boolean {
    const { dialogs, layer } = this.context;
    return dialogs.ofRequest(request) !== undefined || layer.knows(request);
  }

  /** Answers a request without making anything of it. */
  refuse(request: SipMessage, flow: Flow, refusal: SourceRefusal): void {
    if (refusal.silent || request.method === "ACK") return;
    const { status, reason, retryAfter } = refusal;
    const response = this.#statelessly(request, flow, status, reason);
    const cause = refusal["q850-cause"];
    if (cause !== undefined) response.header("Reason", `Q.850;cause=${cause}`);
    if (retryAfter) response.header("Retry-After", spread(retryAfter, Math.random()));
    this.#responseFlow(request, flow).send(response.body());
  }

  /** What cannot be read is answered without a transaction, if it says whom to answer. */
  malformed({ status, reason, partial }: MalformedMessage, flow: Flow): void {
    if (status === 0 || partial === undefined) return;
    this.context.counters.malformedAnswered++;
    this.#responseFlow(partial, flow).send(this.#statelessly(partial, flow, status, reason).body());
  }

  #statelessly(request: SipMessage, flow: Flow, status: number, phrase: string | undefined): MessageWriter {
    const options = { toTag: newTag(), topVia: stampVia(request, flow), ...(phrase !== undefined && { phrase }) };
    return responseTo(request, status, options);
  }

  request(server: ServerTransaction): void {
    if (server.request.toTag === "") this.#uas.request(server);
    else this.#inDialog.request(server);
  }

  ack(request: SipMessage, flow: Flow): void {
    this.#inDialog.ack(request, flow);
  }

  cancel(invite: ServerTransaction, cancel: SipMessage): void {
    this.#uas.cancel(invite, cancel);
  }

  appRequest(app: AppMessage, session: AppSession): void {
    this.#uac.request(app, session);
  }

  appResponse(app: AppMessage, session: AppSession): void {
    this.#uas.response(app, session);
  }

  /** drachtio-srf has dropped its records: nobody waits for these answers. Calls that are up are not in them. */
  appRestarted(session: AppSession): void {
    this.context.log.warn({ peer: session.link.peer }, "application dropped its requests under way");
    this.#abandonRequests(session);
  }

  /** RFC 3261 knows no application that vanishes: its calls are ended as their user would end them. */
  appGone(session: AppSession): void {
    const { apps, incoming, dialogs } = this.context;
    apps.delete(session);
    for (const each of [...incoming]) if (each.owner === session) this.#uas.reject(each, 503);
    this.#abandonRequests(session);
    for (const dialog of [...dialogs]) {
      if (dialog.owner !== session) continue;
      // Subscriptions know no BYE, and run out.
      if (dialog.subscription) dialogs.delete(dialog);
      else if (dialog.data.state === "confirmed") hangUp(this.context, dialog, "Application gone");
    }
  }

  #abandonRequests(session: AppSession): void {
    for (const each of [...this.context.outgoing.values()]) if (each.owner === session) each.cancel();
  }
}

/** `chance`: 0 inclusive to 1 exclusive. */
const spread = ({ min, max }: { readonly min: number; readonly max: number }, chance: number): number =>
  min + Math.floor(chance * (max - min + 1));
