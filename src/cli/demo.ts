import { setTimeout as pause } from "node:timers/promises";
import type { Ms } from "../clock.ts";
import { Demo, type View } from "../demo/demo.ts";
import { createLog } from "../operations/log.ts";
import { explain } from "./configuration.ts";
import { page, summary } from "./demo-page.ts";
import { Screen, type Terminal } from "./demo-screen.ts";
import { exitCodes } from "./exit-codes.ts";
import { onShutdown } from "./shutdown-signals.ts";

export interface DemoOptions {
  /** The demo ends by itself after these; 0 = at Ctrl-C. */
  readonly seconds: number;
}

/** Between two pages: a terminal shows each in the place of the last, a file keeps them all. */
const pageMs = { live: 500, plain: 5_000 };

/** `weir demo`: Weir, carriers and callers until Ctrl-C, SIGTERM, SIGHUP or the end of the time. The exit status. */
export async function demo({ seconds }: DemoOptions, terminal: Terminal = process.stdout): Promise<number> {
  const ended = new AbortController();
  const screen = new Screen(terminal);
  const ignore = onShutdown({
    first: () => ended.abort(),
    again() {
      screen.close(["Ended without waiting for the calls to be hung up."]);
      process.exit(1);
    },
  });
  try {
    // Log lines would tear the table.
    const running = await Demo.start(createLog({ level: "silent", format: "json" }));
    await showUntil(ended.signal, seconds > 0 ? seconds * 1_000 : Number.POSITIVE_INFINITY, running, screen);
    await running.stop();
    screen.close(closingLines(running.view()));
    return 0;
  } catch (error) {
    screen.close([]);
    console.error(explain(error));
    return exitCodes.system;
  } finally {
    ignore();
  }
}

async function showUntil(signal: AbortSignal, endsAt: Ms, running: Demo, screen: Screen): Promise<void> {
  const title = `Weir takes calls at udp://${running.address}, admin API ${running.adminUrl}/v1/agents. Ctrl-C ends it.`;
  const interval = screen.live ? pageMs.live : pageMs.plain;
  for (let view = running.view(); view.elapsed < endsAt && !signal.aborted; view = running.view()) {
    screen.show(page(title, view));
    await pause(Math.min(interval, endsAt - view.elapsed), undefined, { signal }).catch(() => undefined);
  }
}

function closingLines({ agents, calls, counts }: View): string[] {
  const left = agents.reduce((sum, agent) => sum + agent.sessions.total.active, 0) + calls.length;
  const verdict = left === 0 ? "All calls have ended, all session counts are zero." : `${left} sessions are left over.`;
  return [summary(counts), verdict];
}
