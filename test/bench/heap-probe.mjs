// Loaded into the measured process with `node --import`: answers each message of its parent with the heap in use after a
// full collection, in bytes. It keeps no event loop alive and costs nothing between questions.
import { setFlagsFromString } from "node:v8";

process.on("message", () => {
  // A collection leaves pages as they are that hold little; how many there are is chance, so these are emptied as well.
  setFlagsFromString("--compact-on-every-full-gc");
  globalThis.gc?.();
  globalThis.gc?.();
  setFlagsFromString("--no-compact-on-every-full-gc");
  process.send?.(process.memoryUsage().heapUsed);
});
process.channel?.unref();
