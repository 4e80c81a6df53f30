// Loaded into the measured process with `node --import`: answers each message of its parent with the heap in use after a
// full collection, in bytes. It keeps no event loop alive and costs nothing between questions.
process.on("message", () => {
  globalThis.gc?.();
  process.send?.(process.memoryUsage().heapUsed);
});
process.channel?.unref();
