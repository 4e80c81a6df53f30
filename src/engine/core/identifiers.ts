import { randomBytes } from "node:crypto";

/** Eight hex digits of this process: in every Call-ID the engine makes, so that it knows its own calls when they come back. */
export const instance = randomBytes(4).toString("hex");

const poolBytes = 4_096;
let pool = "";
let used = 0;

/** `digits` random hex digits. Random bytes are fetched in bulk: one small request costs more than the rest of a message. */
export function randomHex(digits: number): string {
  if (used + digits > pool.length) {
    pool = randomBytes(poolBytes).toString("hex");
    used = 0;
  }
  used += digits;
  return pool.slice(used - digits, used);
}

let counter = 0;

/** An id for one protocol frame or transaction on a link: unique in this process, meaningless outside. */
export function linkId(): string {
  counter++;
  return `${instance}-${counter.toString(36)}`;
}

export const newBranch = (): string => `z9hG4bK${randomHex(16)}`;

export const newTag = (): string => randomHex(12);

/** A Call-ID that names the engine as its maker. `address` as in a URI. */
export const newCallId = (address: string): string => `${randomHex(24)}.${instance}@${address}`;

/** Whether this process made the Call-ID. */
export const isOwnCallId = (callId: string): boolean => callId.startsWith(`.${instance}@`, 24);
