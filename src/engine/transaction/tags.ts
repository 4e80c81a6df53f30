import { randomFillSync } from "node:crypto";

/** Random bytes drawn in bulk: one system call serves hundreds of identifiers, and costs more than the rest of a message. */
const pool = Buffer.alloc(4_096);
let used = pool.length;

/** Random hex digits, two for each of `bytes` (1 to 4,096). A text of its own: no part of a longer one that it would keep. */
export function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString("hex", used - bytes, used);
}

/** A fresh From or To tag: 64 random bits (RFC 3261 section 19.3 asks for 32). */
export const newTag = (): string => randomHex(8);
