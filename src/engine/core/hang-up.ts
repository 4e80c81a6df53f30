import type { Dialog } from "../dialog/dialog.ts";
import type { SentAcks } from "../dialog/sent-acks.ts";
import type { ClientTransactionUser } from "../transaction/users.ts";
import type { CoreContext } from "./context.ts";
import type { EngineDialog } from "./engine-dialog.ts";
import { localParty, nobody, type Party } from "./frame-writer.ts";
import { ownRequest, unsentRequest, wayInDialog } from "./in-dialog-text.ts";

/** What becomes of a BYE of the engine's own changes nothing. */
const indifferent: ClientTransactionUser = { response() {}, timeout() {}, transportFailure() {} };

/**
 * Ends a dialog by a BYE of the engine's own, and tells its application by an unsolicited BYE. While our 2xx waits for its ACK
 * the BYE waits too (RFC 3261 section 15: the callee must not send it before).
 */
export function hangUp(core: CoreContext, dialog: EngineDialog, reason: string): void {
  if (!core.dialogs.has(dialog)) return;
  if (core.dialogs.answers.has(dialog.id)) {
    dialog.heldBye ??= () => hangUp(core, dialog, reason);
    return;
  }
  core.dialogs.delete(dialog);
  sendBye(core, dialog.data, reason, (text, party) =>
    dialog.owner.deliver(core.frames.unsolicited(dialog.owner.dialect.showOwn(text), party, dialog.id), true),
  );
}

/** Ends a dialog nobody asked for, such as a second fork's answer: it is acknowledged, then hung up. */
export function acknowledgeAndHangUp(core: CoreContext, dialog: Dialog, acks: SentAcks, reason: string): void {
  wayInDialog(core.way, dialog, (flow) => {
    if (typeof flow === "string") return;
    acks.send(dialog.remoteTag, ownRequest(dialog, flow, "ACK").text, flow);
    sendBye(core, dialog, reason, () => {});
  });
}

/** `over` is called once, also where there is no way to the peer: the dialog is over for its application in any case. */
function sendBye(core: CoreContext, dialog: Dialog, reason: string, over: (text: string, party: Party) => void): void {
  const why = `Reason: SIP;cause=200;text="${reason}"\r\n`;
  wayInDialog(core.way, dialog, (flow) => {
    if (typeof flow === "string") {
      over(unsentRequest(dialog, "BYE", why), nobody);
      return;
    }
    core.counters.byesSent++;
    const bye = ownRequest(dialog, flow, "BYE", why);
    core.layer.request(bye, flow, indifferent);
    over(bye.text, localParty(flow));
  });
}
