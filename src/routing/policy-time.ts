import type { Ms } from "../clock.ts";
import type { PolicyTime } from "./params.ts";

const days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const minutesADay = 24 * 60;
const minute: Ms = 60_000;

/** Whether a policy of this time is in force at a moment of the wall clock (SEMANTICS.md section 6). */
export function timeMatches(time: PolicyTime, at: Ms): boolean {
  if (time.activate && at < time.activate) return false;
  if (time.deactivate && at >= time.deactivate) return false;
  const date = new Date(at);
  const minuteOfDay = date.getHours() * 60 + date.getMinutes();
  const spansMidnight = time.start > time.end;
  const afterStart = minuteOfDay >= time.start;
  const beforeEnd = minuteOfDay < time.end;
  if (spansMidnight ? !afterStart && !beforeEnd : !afterStart || !beforeEnd) return false;
  // After midnight a span still belongs to the day on which it began.
  const day = spansMidnight && beforeEnd ? (date.getDay() + 6) % 7 : date.getDay();
  return time["days-of-week"].length === 0 || time["days-of-week"].includes(days[day] ?? "");
}

/** Minutes a week in force: fewer = narrower. Dates of activation do not count. */
export function minutesInForce(time: PolicyTime | undefined): number {
  if (!time) return 7 * minutesADay;
  const perDay = time.end >= time.start ? time.end - time.start : minutesADay - time.start + time.end;
  return perDay * (time["days-of-week"].length || 7);
}

/** Whether there is any moment at which such a policy is in force. */
export function isEverInForce(time: PolicyTime): boolean {
  const { activate, deactivate } = time;
  if (minutesInForce(time) === 0) return false;
  // Eight days hold every hour of every weekday.
  if (!activate || !deactivate || deactivate - activate > 8 * minutesADay * minute) return true;
  for (let at = activate; at < deactivate; at += minute) if (timeMatches(time, at)) return true;
  return false;
}
