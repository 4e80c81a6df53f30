import type { SessionAgent } from "../agents/session-agent.ts";
import type { IncomingRequest } from "../signalling/port.ts";
import { callersDialog } from "./headers.ts";
import type { CallRoute } from "./route.ts";
import type { RoutedRequestParts } from "./routed-request.ts";
import { Subscription, type SubscriptionKeeper } from "./subscription.ts";

/** Subscriptions kept at a time. More are refused: each costs memory for as long as it was granted. */
const maxSubscriptions = 100_000;

/** Methods that ask for a subscription: RFC 6665, RFC 3515. */
export const subscribes = (method: string): boolean => method === "SUBSCRIBE" || method === "REFER";

/** Methods that only a call's dialog knows (RFC 5057 section 5.3): one let in here would be a call that no limit counts. */
const ofCalls = new Set(["INVITE", "BYE", "PRACK", "UPDATE", "INFO"]);

/** All subscriptions that pass through us, by their dialogs. */
export class Subscriptions implements SubscriptionKeeper {
  readonly #parts: RoutedRequestParts;
  readonly #byDialog = new Map<string, Subscription>();

  constructor(parts: RoutedRequestParts) {
    this.#parts = parts;
  }

  /** How many there are, or are asked for. */
  get size(): number {
    return Math.ceil(this.#byDialog.size / 2);
  }

  /** A SUBSCRIBE or REFER outside any dialog. */
  begin(request: IncomingRequest, route: CallRoute, from?: SessionAgent): void {
    const { replies } = this.#parts;
    const dialogId = callersDialog(request.headers);
    // The same request by another way (RFC 3261 section 8.2.2.2), or another one that could not be told from it.
    if (this.#byDialog.has(dialogId)) request.respond(replies.for("loop"));
    else if (this.size >= maxSubscriptions) request.respond(replies.for("too-many-subscriptions"));
    else new Subscription(this, this.#parts, dialogId, from).start(request, route);
  }

  /** False when the request is within none of their dialogs, or of a call that is not there. */
  request(request: IncomingRequest): boolean {
    const subscription = ofCalls.has(request.method) ? undefined : this.#byDialog.get(request.dialogId);
    subscription?.request(request);
    return subscription !== undefined;
  }

  /** The engine is gone, and with it their dialogs. */
  lost(): void {
    for (const subscription of [...this.#byDialog.values()]) subscription.end();
  }

  adopt(dialogId: string, subscription: Subscription): void {
    this.#byDialog.set(dialogId, subscription);
  }

  forget(dialogId: string, subscription: Subscription): void {
    if (this.#byDialog.get(dialogId) === subscription) this.#byDialog.delete(dialogId);
  }
}
