import { withParam } from "../message/params.ts";
import type { SipMessage } from "../message/sip-message.ts";
import { normalAddress } from "./addresses.ts";
import type { Flow } from "./transport.ts";

/**
 * The top Via of a received request with what the receiver adds: `received` when the sender's own idea of its address is
 * another, or `rport` was asked for (RFC 3261 section 18.2.1, RFC 3581 section 4); then `rport` is filled in too.
 */
export function stampVia(request: SipMessage, flow: Pick<Flow, "remoteAddress" | "remotePort">): string {
  const via = request.topVia;
  const asked = via.rport !== undefined;
  if (!asked && via.received === "" && normalAddress(via.host) === flow.remoteAddress) return via.text;
  const stamped = withParam(via.text, "received", flow.remoteAddress);
  return asked ? withParam(stamped, "rport", String(flow.remotePort)) : stamped;
}
