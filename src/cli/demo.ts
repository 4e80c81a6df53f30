import { setTimeout as pause } from "node:timers/promises";
import { Demo } from "../demo/demo.ts";
import { createLog } from "../operations/log.ts";
import { page, summary } from "./demo-page.ts";
import { Screen, type Terminal } from "./demo-screen.ts";
import { onShutdown } from "./shutdown-signals.ts";

export interface DemoOptions {
  /** The demo ends by itself after these; 0 = at Ctrl-C. */
  readonly seconds: number;
}

/** Between two pages: a terminal shows each in the place of the last, a file keeps them all. */
const pageMs = { live: 500, plain: 5_000 };

/** `weir demo`: Weir, carriers and callers until Ctrl-C, SIGTERM or the end of the time. The exit status. */
export async function demo({ seconds }: DemoOptions, terminal: Terminal = process.stdout): Promise<number> {
  const ended = new AbortController();
  const ignore = onShutdown({ first: () => ended.abort(), again: () => process.exit(1) });
  const screen = new Screen(terminal);
  // Log lines would tear the table.
  const running = await Demo.start(createLog({ level: "silent", format: "json" }));
  const endsAt = seconds > 0 ? seconds * 1_000 : Number.POSITIVE_INFINITY;
  const title = `Weir takes calls at udp://${running.address}, admin API ${running.adminUrl}/v1/agents. Ctrl-C ends it.`;
  try {
    for (let left = endsAt; left > 0 && !ended.signal.aborted; left = endsAt - running.view().elapsed) {
      screen.show(page(title, running.view()));
      const interval = screen.live ? pageMs.live : pageMs.plain;
      await pause(Math.min(interval, left), undefined, { signal: ended.signal }).catch(() => undefined);
    }
    await running.stop();
  } finally {
    ignore();
    const { agents, calls, counts } = running.view();
    const left = agents.reduce((sum, agent) => sum + agent.sessions.total.active, 0) + calls.length;
    screen.close([
      summary(counts),
      left === 0 ? "All calls have ended, all session counts are zero." : `${left} sessions are left over.`,
    ]);
  }
  return 0;
}
