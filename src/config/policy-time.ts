import type { PolicyTime } from "../routing/params.ts";
import { isEverInForce } from "../routing/policy-time.ts";
import type { Problems } from "./problems.ts";
import { asMap, readTexts, refuseUnknownKeys } from "./read-map.ts";
import { childPath, describe, type MapNode, type SourceNode } from "./source-node.ts";

const days = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
/** How policies name them, beside the whole word. */
const shortOf = (day: string): string => day.slice(0, 3);
const midnightAtEnd = 24 * 60;

/** When a policy is in force (SEMANTICS.md section 6); undefined = always. Times are local. */
export function readPolicyTime(policy: MapNode, path: string, problems: Problems): PolicyTime | undefined {
  const entry = policy.entries.get("time");
  if (!entry) return undefined;
  const here = childPath(path, "time");
  const map = asMap(entry.value, here, problems);
  if (!map) return undefined;
  refuseUnknownKeys(map, here, ["days-of-week", "start", "end", "activate", "deactivate"], problems);
  const read = <T>(key: string, parse: (text: string) => T | undefined, fallback: T, expected: string): T => {
    const node = map.entries.get(key)?.value;
    if (!node) return fallback;
    const value = node.kind === "scalar" ? parse(node.text.trim()) : undefined;
    if (value === undefined) refuse(node, childPath(here, key), expected, problems);
    return value ?? fallback;
  };
  const time = {
    "days-of-week": readDays(map, here, problems),
    start: read("start", minutesOf, 0, "a time 00:00 to 24:00"),
    end: read("end", minutesOf, midnightAtEnd, "a time 00:00 to 24:00"),
    activate: read("activate", dateOf, 0, "a date such as 2026-03-01 or 2026-03-01T08:00"),
    deactivate: read("deactivate", dateOf, 0, "a date such as 2026-03-01 or 2026-03-01T08:00"),
  };
  if (time.deactivate > 0 && time.activate >= time.deactivate) {
    problems.error({ line: map.line, path: childPath(here, "deactivate") }, "found a date not after activate");
  } else if (!isEverInForce(time)) {
    const text = "found no moment at which the policy is in force, so that it never matches";
    problems.error({ line: map.line, path: here }, text);
  } else if (time.deactivate > 0 && time.deactivate <= Date.now()) {
    const place = { line: map.line, path: childPath(here, "deactivate") };
    problems.warning(place, "the date is over, so that the policy never matches again");
  }
  return time;
}

const refuse = (node: SourceNode, path: string, expected: string, problems: Problems): void =>
  problems.error({ line: node.line, path }, `found ${describe(node)}, expected ${expected}`);

const dayOf = (name: string): string | undefined => days.find((day) => name === day || name === shortOf(day));

function readDays(map: MapNode, path: string, problems: Problems): string[] {
  const found = readTexts({ map, key: "days-of-week", path, problems }, (text, place) => {
    const named = text.split(",").map((name) => dayOf(name.trim().toLowerCase()));
    const known = named.filter((day) => day !== undefined);
    if (known.length < named.length) problems.error(place(), `found "${text}", expected days such as mon, tue`);
    return known.map(shortOf);
  });
  return [...new Set(found.flat())];
}

/** `08:30` or `0830` as minutes after midnight. */
function minutesOf(text: string): number | undefined {
  const match = /^(\d{1,2}):?(\d{2})$/.exec(text);
  const minutes = Number(match?.[1]) * 60 + Number(match?.[2]);
  return match && Number(match[2]) < 60 && minutes <= midnightAtEnd ? minutes : undefined;
}

/** Epoch milliseconds; a date without a zone is local, as the times of day are. */
function dateOf(text: string): number | undefined {
  const shape = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?)?$/;
  const milliseconds = shape.test(text) ? Date.parse(text.includes("T") ? text : `${text}T00:00`) : Number.NaN;
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}
