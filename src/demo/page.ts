import type { AgentSnapshot } from "../agents/snapshot.ts";
import type { CallSnapshot } from "../calls/record.ts";
import { agentTable } from "./agent-table.ts";
import type { CallerCounts } from "./callers.ts";
import { type Align, columns } from "./columns.ts";

/** One moment of the demo. */
export interface View {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly elapsedS: number;
  readonly agents: readonly AgentSnapshot[];
  readonly calls: readonly CallSnapshot[];
  readonly counts: CallerCounts;
}

/** More calls than these are told by their number only. */
const callsShown = 15;
const callAlign: readonly Align[] = ["left", "left", "left", "right", "left"];

/** The page that the demo shows again and again: what happens, the agents, the newest calls. */
export function page(title: string, { now, elapsedS, agents, calls, counts }: View): string[] {
  const rows = calls.slice(-callsShown).map((call) => callRow(call, now));
  const hidden = calls.length - rows.length;
  return [
    title,
    `${clock(elapsedS)}   ${calls.length} calls now   ${summary(counts)}`,
    "",
    ...agentTable(agents),
    "",
    ...columns([["CALL TO", "STATE", "AGENT", "SECONDS", "BEFORE THAT"], ...rows], callAlign),
    ...(hidden > 0 ? [`and ${hidden} more`] : []),
  ];
}

/** What the callers have seen, in words. */
export function summary({ placed, answered, cancelled, refused, lost }: CallerCounts): string {
  const refusals = [...refused].sort(([a], [b]) => a - b).map(([status, count]) => `${count} refused with ${status}`);
  return [`${placed} placed`, `${answered} answered`, `${cancelled} given up`, ...refusals, `${lost} lost`].join(", ");
}

function callRow({ caller, state, agent, started, attempts }: CallSnapshot, now: number): string[] {
  const before = attempts.slice(0, -1).map((attempt) => `${attempt.agent} ${attempt.outcome}`);
  return [
    /sip:([^@]*)@/.exec(caller.to)?.[1] ?? caller.to,
    state,
    agent.name,
    ((now - Date.parse(started)) / 1_000).toFixed(0),
    before.join(", "),
  ];
}

function clock(seconds: number): string {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${`${whole % 60}`.padStart(2, "0")}`;
}
