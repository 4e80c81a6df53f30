import type { SipMessage } from "../message/sip-message.ts";
import type { Dialog } from "./dialog.ts";

/** The dialogs of one engine with what belongs to each, by the id the application knows and by the tags the network shows. */
export class DialogStore<Kept extends { readonly data: Dialog }> {
  readonly #byId = new Map<string, Kept>();
  readonly #byTags = new Map<string, Kept>();

  get size(): number {
    return this.#byId.size;
  }

  [Symbol.iterator](): Iterator<Kept> {
    return this.#byId.values();
  }

  /**
   * Keeps a dialog. The first fork of a request has the plain id; a further one has its own tag appended to its id. False
   * when the very dialog is there already.
   */
  add(kept: Kept): boolean {
    const { data } = kept;
    const { callId, localTag, remoteTag } = data;
    const tags = key(callId, localTag, remoteTag);
    if (this.#byTags.has(tags)) return false;
    if (this.#byId.has(data.id)) data.id = `${data.id};to-tag=${data.role === "uac" ? remoteTag : localTag}`;
    this.#byId.set(data.id, kept);
    this.#byTags.set(tags, kept);
    return true;
  }

  get(id: string): Kept | undefined {
    return this.#byId.get(id);
  }

  /** The dialog of these tags (RFC 3261 section 12: Call-ID, local tag, remote tag). */
  find(callId: string, localTag: string, remoteTag: string): Kept | undefined {
    return this.#byTags.get(key(callId, localTag, remoteTag));
  }

  /** The dialog a request from the network belongs to: its To tag is ours. */
  ofRequest(request: SipMessage): Kept | undefined {
    return this.find(request.callId, request.toTag, request.fromTag);
  }

  /** The dialog a response from the network belongs to: its From tag is ours. */
  ofResponse(response: SipMessage): Kept | undefined {
    return this.find(response.callId, response.fromTag, response.toTag);
  }

  has(kept: Kept): boolean {
    return this.#byId.get(kept.data.id) === kept;
  }

  delete(kept: Kept): void {
    if (!this.has(kept)) return;
    const { id, callId, localTag, remoteTag } = kept.data;
    this.#byId.delete(id);
    this.#byTags.delete(key(callId, localTag, remoteTag));
  }
}

/** No space can stand in any of the three. */
const key = (callId: string, localTag: string, remoteTag: string): string => `${localTag} ${remoteTag} ${callId}`;
