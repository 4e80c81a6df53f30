import type { SipMessage } from "../message/sip-message.ts";
import { type Dialog, dialogId } from "./dialog.ts";

/** The dialogs of one engine, by the id the application knows and by the tags the network shows. */
export class DialogStore {
  readonly #byId = new Map<string, Dialog>();

  get size(): number {
    return this.#byId.size;
  }

  [Symbol.iterator](): Iterator<Dialog> {
    return this.#byId.values();
  }

  /**
   * Keeps a dialog. The first fork of a request has the plain id; a further one has its own tag appended to its id. False
   * when the very dialog is there already.
   */
  add(dialog: Dialog): boolean {
    const { callId, localTag, remoteTag } = dialog;
    if (this.find(callId, localTag, remoteTag)) return false;
    if (this.#byId.has(dialog.id)) dialog.id = forkId(dialog.id, dialog.role === "uac" ? remoteTag : localTag);
    this.#byId.set(dialog.id, dialog);
    return true;
  }

  get(id: string): Dialog | undefined {
    return this.#byId.get(id);
  }

  /** The dialog of these tags (RFC 3261 section 12: Call-ID, local tag, remote tag). */
  find(callId: string, localTag: string, remoteTag: string): Dialog | undefined {
    return (
      this.#among(dialogId(callId, remoteTag), localTag, remoteTag, localTag) ??
      this.#among(dialogId(callId, localTag), localTag, remoteTag, remoteTag)
    );
  }

  /** The dialog a request from the network belongs to: its To tag is ours. */
  ofRequest(request: SipMessage): Dialog | undefined {
    return this.find(request.callId, request.toTag, request.fromTag);
  }

  /** The dialog a response from the network belongs to: its From tag is ours. */
  ofResponse(response: SipMessage): Dialog | undefined {
    return this.find(response.callId, response.fromTag, response.toTag);
  }

  delete(dialog: Dialog): void {
    if (this.#byId.get(dialog.id) === dialog) this.#byId.delete(dialog.id);
  }

  /** One map serves both ways of asking, since the id holds the From tag: ours in one role, the peer's in the other. */
  #among(id: string, localTag: string, remoteTag: string, toTag: string): Dialog | undefined {
    const first = this.#byId.get(id);
    if (first && first.localTag === localTag && first.remoteTag === remoteTag) return first;
    const fork = this.#byId.get(forkId(id, toTag));
    return fork && fork.localTag === localTag && fork.remoteTag === remoteTag ? fork : undefined;
  }
}

const forkId = (id: string, toTag: string): string => `${id};to-tag=${toTag}`;
