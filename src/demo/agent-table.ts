import type { Active, AgentSnapshot, Rate } from "../agents/snapshot.ts";
import { type Align, columns } from "./columns.ts";

const head = ["AGENT", "STATE", "IN", "OUT", "TOTAL", "BURST/s", "SUSTAINED/s", "ANSWERED", "EXCEEDED"];
const align: readonly Align[] = ["left", "left", "right", "right", "right", "right", "right", "right", "left"];

/** One line per agent below a heading; a measure with a limit shows as `3/5`. */
export function agentTable(agents: readonly AgentSnapshot[]): string[] {
  return columns([head, ...agents.map(row)], align);
}

function row({ hostname, state, reason, sessions, rates, asr, exceeded }: AgentSnapshot): string[] {
  const counts = Object.entries(exceeded).map(([limit, count]) => `${limit} ${count}`);
  return [
    hostname,
    state.letter === "I" ? "I" : `${state.letter} ${reason}`,
    active(sessions.inbound),
    active(sessions.outbound),
    active(sessions.total),
    rate(rates.burst.total),
    rate(rates.sustain.total),
    asr.ratio === null ? "-" : `${Math.round(asr.ratio)} %`,
    counts.join(", "),
  ];
}

const withMaximum = (shown: string, maximum: number): string => (maximum > 0 ? `${shown}/${maximum}` : shown);
const active = ({ active: count, maximum }: Active): string => withMaximum(`${count}`, maximum);
const rate = ({ value, maximum }: Rate): string => withMaximum(value.toFixed(1), maximum);
