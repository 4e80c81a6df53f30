import { randomFillSync } from "node:crypto";
import { magicCookie } from "./keys.ts";

/** Random bytes drawn in bulk: one system call serves hundreds of tokens. */
const pool = Buffer.alloc(4_096);
let used = pool.length;

function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString("hex", used - bytes, used);
}

/** A fresh From or To tag: 64 random bits (RFC 3261 section 19.3 asks for 32). */
export const newTag = (): string => randomHex(8);

/** A fresh branch for a Via of ours (RFC 3261 section 8.1.1.7). */
export const newBranch = (): string => magicCookie + randomHex(8);
