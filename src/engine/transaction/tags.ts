import { randomFillSync } from "node:crypto";

/** Random bytes drawn in bulk: one system call serves hundreds of tags. */
const pool = Buffer.alloc(4_096);
let used = pool.length;

const tagBytes = 8;

/** A fresh To tag: 64 random bits (RFC 3261 section 19.3 asks for 32). */
export function newTag(): string {
  if (used + tagBytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += tagBytes;
  return pool.toString("hex", used - tagBytes, used);
}
