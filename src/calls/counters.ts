import type { CallEnd } from "./call-host.ts";
import type { LocalCause } from "./local-responses.ts";

/** Plain numbers since start-up, read at scrape time. */
export class CallCounters {
  /** INVITEs outside any dialog. */
  received = 0;
  /** Calls that an agent answered. */
  answered = 0;
  /** Attempts sent to agents and other next hops. */
  attempts = 0;
  /** Attempts after a call's first. */
  failovers = 0;
  /** INVITEs refused before any routing, by cause. */
  readonly refused: Partial<Record<LocalCause, number>> = {};
  /** Calls ended, by how. */
  readonly ended: Record<CallEnd, number> = {
    "caller-bye": 0,
    "agent-bye": 0,
    cancelled: 0,
    rejected: 0,
    "no-ack": 0,
    "dialog-gone": 0,
    "session-expired": 0,
    "life-limit": 0,
    shutdown: 0,
    "link-lost": 0,
  };

  refuse(cause: LocalCause): void {
    this.refused[cause] = (this.refused[cause] ?? 0) + 1;
  }
}
