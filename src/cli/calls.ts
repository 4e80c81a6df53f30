import type { CallSnapshot } from "../calls/record.ts";
import { type AdminOptions, getAdmin } from "./admin-client.ts";
import { table } from "./table.ts";

const head = ["CALL", "STATE", "FROM", "TO", "AGENT", "ATTEMPTS", "AGE", "CALL-ID"];

/** `weir calls`: every call that is up in the running Weir. The text to print. */
export async function calls(options: AdminOptions, now: Date): Promise<string> {
  const { calls: list } = (await getAdmin(options, "/v1/calls", "no calls are shown there")) as {
    readonly calls: readonly CallSnapshot[];
  };
  const rows = list.map((call) => [
    call.id,
    call.state,
    call.caller.from,
    call.caller.to,
    call.agent.name,
    String(call.attempts.length),
    ageOf(now.getTime() - Date.parse(call.started)),
    call.caller.callId,
  ]);
  return list.length === 0 ? "no calls are up" : `${table(head, rows)}\n${list.length} up`;
}

/** Hours, minutes and seconds. */
export function ageOf(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1_000));
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${Math.floor(s / 3_600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}
