import type { AddressView, AgentSnapshot } from "../agents/snapshot.ts";
import { type AdminOptions, getAdmin } from "./admin-client.ts";
import { measure, round, table } from "./table.ts";

/** `weir agents`: every agent of the running Weir in a table, or one in full. The text to print. */
export async function agents(hostname: string | undefined, options: AdminOptions): Promise<string> {
  if (hostname === undefined) {
    const { agents: list } = (await getAdmin(options, "/v1/agents", "no agents are shown there")) as AgentList;
    return list.length === 0 ? "there are no session agents" : agentTable(list);
  }
  const path = `/v1/agents/${encodeURIComponent(hostname)}`;
  return detailOf((await getAdmin(options, path, `there is no session agent ${hostname}`)) as AgentSnapshot);
}

interface AgentList {
  readonly agents: readonly Omit<AgentSnapshot, "transitions">[];
}

const head = [
  ...["AGENT", "ST", "IN", "IN/S", "IN-EXC", "OUT", "OUT/S", "OUT-EXC"],
  ...["TOTAL", "TOTAL/S", "AVG MS", "MAX MS", "ASR %", "REASON"],
];

/**
 * One line for each agent under a head: for each direction sessions, session attempts a second and requests refused by
 * limits; the first two in both together; the average and longest wait for a first response. What has a limit is shown
 * beside it.
 */
export const agentTable = (agents: AgentList["agents"]): string => table(head, agents.map(rowOf));

function rowOf(agent: AgentList["agents"][number]): string[] {
  const { sessions, rates, asr, refused, latency } = agent;
  const load = (scope: "inbound" | "outbound" | "total"): string[] => [
    measure(sessions[scope].active, sessions[scope].maximum),
    measure(rates.burst[scope].value, rates.burst[scope].maximum),
  ];
  return [
    agent.hostname,
    agent.state.letter,
    ...load("inbound"),
    String(refused.inbound),
    ...load("outbound"),
    String(refused.outbound),
    ...load("total"),
    latency ? round(latency.average) : "-",
    latency ? round(latency.maximum) : "-",
    asr.ratio === null ? "-" : round(asr.ratio),
    agent.state.letter === "I" ? "" : agent.reason,
  ];
}

type Line = [name: string, value: string];

/** One agent in full, a line for each fact. */
export function detailOf(agent: AgentSnapshot): string {
  const { sessions, rates, asr, lastPing, latency, refused, totals } = agent;
  const exceeded = Object.entries(agent.exceeded).map(([limit, count]) => `${limit} ${count}`);
  const scopes = ["inbound", "outbound", "total"] as const;
  const lines: Line[] = [
    ["agent", agent.hostname],
    ["address", `${agent.address} ${agent.transport}, realm ${agent.realm}`],
    ...listed("found at", (agent.addresses ?? []).map(foundAt)),
    ...registeredOf(agent),
    ["state", `${agent.state.letter} ${agent.state.word}`],
    ["reason", agent.reason],
    ["since", agent.since],
    ["resumes", agent.resumeAt ?? "-"],
    ["at a limit", agent.constraint.join(", ") || "-"],
    ...scopes.map((scope): Line => [`${scope} sessions`, measure(sessions[scope].active, sessions[scope].maximum)]),
    ...scopes.map(
      (scope): Line => [
        `${scope} rates`,
        `burst ${measure(rates.burst[scope].value, rates.burst[scope].maximum)} per s, ` +
          `sustained ${measure(rates.sustain[scope].value, rates.sustain[scope].maximum)} per s`,
      ],
    ),
    [
      "answered",
      `${asr.answered} of ${asr.attempts} in the window${asr.ratio === null ? "" : `, ${round(asr.ratio)} %`}`,
    ],
    ["since start", `${totals.inbound} inbound, ${totals.outbound} outbound, ${totals.answered} answered`],
    ["refused", `${refused.inbound} inbound, ${refused.outbound} outbound`],
    ["exceeded", exceeded.join(", ") || "-"],
    ["latency", latency ? `average ${round(latency.average)} ms, longest ${round(latency.maximum)} ms` : "-"],
    ["last ping", lastPing ? pingOf(lastPing) : "-"],
    ...listed(
      "transitions",
      agent.transitions.map(
        (change) => `${change.at} ${change.from} > ${change.to} ${change.reason}${causeOf(change)}`,
      ),
    ),
  ];
  const width = Math.max(...lines.map(([name]) => name.length));
  return lines.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join("\n");
}

/** A line for each value, the first of them with the name. */
const listed = (name: string, values: readonly string[]): Line[] =>
  values.map((value, at) => [at === 0 ? name : "", value]);

/** One address that the agent's name leads to, and how it fares. */
function foundAt({ address, transport, health, reason, silent, resumeAt }: AddressView): string {
  const parts = [`${address} ${transport} ${health}`];
  if (health !== "in-service") parts.push(`${reason}${resumeAt === null ? "" : `, resumes ${resumeAt}`}`);
  if (silent) parts.push("silent of late, tried last");
  return parts.join(", ");
}

/** Whether the agent has registered us, where it has to. */
const registeredOf = ({ registered }: AgentSnapshot): Line[] =>
  registered === undefined ? [] : [["registered", registered ? "yes" : "no"]];

const pingOf = ({ at, status, failure, roundTripMs }: NonNullable<AgentSnapshot["lastPing"]>): string =>
  [at, failure ?? status, ...(roundTripMs === undefined ? [] : [`${round(roundTripMs)} ms`])].join(" ");

/** How full the limit was that decided, or the response code or the system's own words. */
function causeOf({ limit, value, maximum, status, detail }: AgentSnapshot["transitions"][number]): string {
  if (limit !== undefined) return ` ${measure(value ?? 0, maximum ?? 0)}`;
  return `${status === undefined ? "" : ` ${status}`}${detail === undefined ? "" : ` (${detail})`}`;
}
