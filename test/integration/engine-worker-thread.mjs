// The thread runs the sources, so it needs the loader that the test's own thread has from vitest.
import { register } from "tsx/esm/api";

register();
await import("../../src/engine/worker-thread.ts");
