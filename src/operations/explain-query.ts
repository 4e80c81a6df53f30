import type { Ms } from "../clock.ts";
import type { RouteRequest } from "../routing/policy-table.ts";

/** The query of GET /v1/explain, as it was typed. A key that is repeated is a list. */
export type ExplainQuery = Readonly<Record<string, string | string[] | undefined>>;

export interface ExplainDefaults {
  /** Identifiers; the first is where a request enters that does not say where. */
  readonly realms: readonly string[];
  readonly now: Ms;
  /** Those that policies are asked about. */
  readonly methods: ReadonlySet<string>;
  /** Whether there is a session agent of this name. */
  knows(agent: string): boolean;
}

/** A query that cannot be answered, and why. */
export interface BadQuery {
  readonly error: string;
}

const keys = ["to", "from", "realm", "at", "method", "agent"];

/** The request that a query asks about. `to` and `from`: a number, a user, `user@host`, or a SIP or tel URI. */
export function readExplainQuery(
  query: ExplainQuery,
  { realms, now, methods, knows }: ExplainDefaults,
): RouteRequest | BadQuery {
  for (const [key, value] of Object.entries(query)) {
    if (!keys.includes(key)) return { error: `unknown parameter ${key}, expected ${keys.join(", ")}` };
    if (typeof value !== "string") return { error: `${key} was given more than once` };
  }
  const text = (key: string, fallback: string): string => String(query[key] ?? "").trim() || fallback;
  const realm = text("realm", realms[0] ?? "default");
  const method = text("method", "INVITE").toUpperCase();
  const at = query.at === undefined ? now : dateOf(text("at", ""));
  const to = partsOf(text("to", ""));
  const from = partsOf(text("from", "anonymous"));
  if (to.user === "" && to.host === "") return { error: "to is missing, expected a number or an address" };
  if (!realms.includes(realm)) return { error: `there is no realm ${realm}, expected ${realms.join(", ")}` };
  if (Number.isNaN(at)) return { error: `found "${text("at", "")}" as at, expected a date such as 2026-03-01T08:00` };
  if (query.agent !== undefined && !knows(text("agent", ""))) {
    return { error: `there is no session agent ${text("agent", "")}` };
  }
  if (!methods.has(method))
    return { error: `${method} is not routed by policies, expected ${[...methods].join(", ")}` };
  return {
    method,
    from: from.user,
    fromHost: from.host,
    to: to.user,
    toHost: to.host,
    sourceRealm: realm,
    at,
    carrier: /;\s*cic=([^;@>\s]+)/i.exec(text("to", ""))?.[1] ?? "",
    ...(query.agent !== undefined && { source: text("agent", "") }),
  };
}

/** ISO 8601; local time where it names no zone. NaN when it is no date. A `+` of a zone may have come as a space. */
const dateOf = (text: string): Ms => {
  const iso = text.replace(/ (\d\d:\d\d)$/, "+$1");
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/.test(iso)) return Number.NaN;
  return Date.parse(iso.includes("T") ? iso : `${iso}T00:00`);
};

/** User and host of an address; what has neither scheme nor `@` is a user. */
function partsOf(text: string): { user: string; host: string } {
  const uri = /<([^>]*)>/.exec(text)?.[1] ?? text;
  const scheme = /^(sips?|tel):/i.exec(uri)?.[1]?.toLowerCase() ?? "";
  const address = scheme === "" ? uri : uri.slice(scheme.length + 1);
  const mark = address.indexOf("@");
  if (mark < 0) return scheme.startsWith("sip") ? { user: "", host: hostOf(address) } : { user: address, host: "" };
  return { user: address.slice(0, mark), host: hostOf(address.slice(mark + 1)) };
}

/** A host without port and parameters; IPv6 without brackets. */
const hostOf = (text: string): string => /^(?:\[([^\]]*)\]|([^:;?]*))/.exec(text)?.slice(1).find(Boolean) ?? "";
