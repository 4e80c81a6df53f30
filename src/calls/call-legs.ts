import type { Direction } from "../agents/direction.ts";
import type { Lease, ReleaseReason } from "../agents/lease.ts";
import type { SessionAgent } from "../agents/session-agent.ts";
import type { Exchange, ExchangeUser, Signalling } from "../signalling/port.ts";
import type { HeaderRules, PassedKind } from "./header-rules.ts";
import { heardFrom } from "./heard-agent.ts";
import type { CallRecord, Side } from "./record.ts";
import type { InDialogRequest } from "./relayed-invite.ts";

/** What the legs need around them. */
export interface LegsHost {
  readonly signalling: Signalling;
  readonly headerRules: HeaderRules;
}

export const otherSide = (side: Side): Side => (side === "caller" ? "agent" : "caller");

/** The two legs of a call: on each a dialog, the session agent behind it where there is one, and its place there. */
export class CallLegs {
  readonly #host: LegsHost;
  readonly #record: CallRecord;
  readonly #leases: Record<Side, Lease | undefined>;
  readonly #caller: SessionAgent | undefined;
  #agent: SessionAgent | undefined;

  constructor(host: LegsHost, record: CallRecord, callerLease: Lease | undefined) {
    this.#host = host;
    this.#record = record;
    this.#caller = callerLease?.agent;
    this.#leases = { caller: callerLease, agent: undefined };
  }

  /** The agent that is called now; undefined for a next hop that is no agent. Its attempt holds the place. */
  attempt(agent: SessionAgent | undefined): void {
    this.#agent = agent;
  }

  /** The agent has answered: its place is the call's. */
  answered(lease: Lease | undefined): void {
    this.#leases.agent = lease;
  }

  /** Gives that side's place back, if it still has one. */
  release(side: Side, why: ReleaseReason): void {
    const lease = this.#leases[side];
    this.#leases[side] = undefined;
    lease?.release(why);
  }

  /** Undefined for a peer that is no agent. */
  agentOn(side: Side): SessionAgent | undefined {
    return side === "caller" ? this.#caller : this.#agent;
  }

  /** "" while that side has no dialog. */
  dialogOf(side: Side): string {
    return side === "caller" ? this.#record.callerDialog : this.#record.agentDialog;
  }

  sideOf(dialogId: string): Side {
    return dialogId === this.#record.callerDialog ? "caller" : "agent";
  }

  /** A request has come within that side's dialog. It is a sign of life too: no ping is due (SEMANTICS.md section 4.3). */
  heard(side: Side, method: string): void {
    const agent = this.agentOn(side);
    agent?.touch();
    if (method === "INVITE") countReInvite(agent, "inbound");
  }

  /** Sends within that side's dialog. */
  send(to: Side, { method, headers, body }: InDialogRequest, user: ExchangeUser): Exchange {
    const agent = this.agentOn(to);
    if (method === "INVITE") countReInvite(agent, "outbound");
    const request = { method, uri: "", peer: agent?.hostname, dialogId: this.dialogOf(to), headers, body };
    return this.#host.signalling.send(request, heardFrom(agent, user));
  }

  /** Header rules, for a message that passes from that side to the other. */
  pass(from: Side, headers: Record<string, string>, kind: PassedKind): void {
    this.#host.headerRules.apply(headers, kind, this.agentOn(from), this.agentOn(otherSide(from)));
  }
}

/** It counts for the rate of INVITE, is never refused, and takes no place (SEMANTICS.md section 3). */
function countReInvite(agent: SessionAgent | undefined, direction: Direction): void {
  const admission = agent?.admit({ direction, method: "INVITE", exempt: true });
  if (admission?.admitted) admission.lease.release("done");
}
