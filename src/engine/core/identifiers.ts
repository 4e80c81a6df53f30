import { randomBytes } from "node:crypto";
import { randomHex } from "../transaction/tags.ts";

export { newTag } from "../transaction/tags.ts";

/** Eight hex digits of this process: in every Call-ID the engine makes, so that it knows its own calls when they come back. */
export const instance = randomBytes(4).toString("hex");

let counter = 0;

/** An id for one protocol frame or transaction on a link: unique in this process, meaningless outside. */
export function linkId(): string {
  counter++;
  return `${instance}-${counter.toString(36)}`;
}

export const newBranch = (): string => `z9hG4bK${randomHex(8)}`;

/** A Call-ID that names the engine as its maker. `address` as in a URI. */
export const newCallId = (address: string): string => `${randomHex(12)}.${instance}@${address}`;

/** Whether this process made the Call-ID. */
export const isOwnCallId = (callId: string): boolean => callId.startsWith(`.${instance}@`, 24);
