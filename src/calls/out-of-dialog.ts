import type { IncomingRequest, Reply } from "../signalling/port.ts";
import type { LocalReplies } from "./local-responses.ts";

/** Methods that are taken, in or out of a dialog. */
const allowed = "INVITE, ACK, CANCEL, BYE, PRACK, UPDATE, INFO, MESSAGE, OPTIONS, REFER, NOTIFY, SUBSCRIBE, PUBLISH";

/** Methods that RFCs define, and that we know and do not take here. */
const known = new Set(["REGISTER", ...allowed.split(", ")]);

/** Methods that are nothing without their dialog (RFC 3261, 3262, 3311, 6086 and 6665). */
const ofDialogs = new Set(["BYE", "UPDATE", "PRACK", "INFO", "NOTIFY"]);

/** The answer to a request that belongs to no call. Only OPTIONS is ours to serve (RFC 3261 section 11.2). */
export function replyOutOfDialog({ method }: IncomingRequest, draining: boolean, replies: LocalReplies): Reply {
  const allow = { allow: allowed };
  if (ofDialogs.has(method)) return replies.for("no-dialog");
  if (method !== "OPTIONS") return replies.for(known.has(method) ? "method-not-allowed" : "not-implemented", allow);
  // A peer that asks whether we take calls is told the truth.
  if (draining) return replies.for("draining", allow);
  return replies.for("ok", { ...allow, accept: "application/sdp", supported: "100rel" });
}
