import type { CallSnapshot } from "../calls/record.ts";
import type { CallerCounts } from "../demo/callers.ts";
import type { View } from "../demo/demo.ts";
import { agentTable } from "./agents.ts";
import { ageOf } from "./calls.ts";
import { table } from "./table.ts";

/** More calls than these are told by their number only. */
const callsShown = 15;
const callHead = ["CALL TO", "STATE", "AGENT", "AGE", "BEFORE THAT"];

/** The page that the demo shows again and again: what happens, the agents, the newest calls. */
export function page(title: string, { now, elapsed, agents, calls, counts }: View): string[] {
  const rows = calls.slice(-callsShown).map((call) => callRow(call, now));
  const hidden = calls.length - rows.length;
  return [
    title,
    `${ageOf(elapsed)}   ${calls.length} calls now   ${summary(counts)}`,
    "",
    ...agentTable(agents).split("\n"),
    "",
    ...table(callHead, rows).split("\n"),
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
  const called = /sip:([^@]*)@/.exec(caller.to)?.[1] ?? caller.to;
  return [called, state, agent.name, ageOf(now - Date.parse(started)), before.join(", ")];
}
