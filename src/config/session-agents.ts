import { isIP } from "node:net";
import { type AgentParams, agentParams, type RateConstraint, rateConstraintParams } from "../agents/params.ts";
import { defaultsOf } from "../params.ts";
import { canonicalAddress } from "./addresses.ts";
import type { Place, Problems } from "./problems.ts";
import { asMap, eachItem, readName, readTable, refuseUnknownKeys, withDefaults } from "./read-map.ts";
import { childPath, type MapNode } from "./source-node.ts";
import { readSurrogate, userPart } from "./surrogates.ts";

/** Something read from a list of the file, with the place of each of its keys for later complaints. */
export interface Placed<T> {
  readonly value: T;
  readonly place: Place;
  /** The place of a key, or of the item where the key is not written. */
  placeOf(key: string): Place;
}

/** Keeps the lines and not the nodes: those of ten thousand agents are not needed once the agents are read. */
export function placed<T>(value: T, map: MapNode, path: string): Placed<T> {
  const { line } = map;
  const elsewhere = [...map.entries].flatMap(([key, { value }]) =>
    value.line === line ? [] : [[key, value.line] as const],
  );
  const lines = new Map(elsewhere);
  return {
    value,
    place: { line, path },
    placeOf: (key) => ({ line: lines.get(key) ?? line, path: childPath(path, key) }),
  };
}

/** With all that an agent has, as V8 keeps an object that grows by a spread in six times the room. */
const agentDefaults = { ...defaultsOf(agentParams), hostname: "", "rate-constraints": [] };
/** RFC 3261 section 19.1.2. */
const tlsAgentDefaults = { ...agentDefaults, port: 5_061 };
const rateDefaults = defaultsOf(rateConstraintParams);

const agentKeys = ["hostname", ...Object.keys(agentParams), "rate-constraints", "surrogate-registration"];

export function readAgents(root: MapNode, problems: Problems): Placed<AgentParams>[] {
  const agents: Placed<AgentParams>[] = [];
  for (const [node, path] of eachItem(root, "session-agents", "", problems)) {
    const map = asMap(node, path, problems);
    if (!map) continue;
    refuseUnknownKeys(map, path, agentKeys, problems);
    const hostname = readName(map, "hostname", path, problems);
    const set = readTable(map, path, agentParams, problems);
    const defaults = set.get("transport-method") === "TLS" ? tlsAgentDefaults : agentDefaults;
    const values = withDefaults<typeof agentParams>(defaults, set);
    const constraints = readRateConstraints(map, path, problems);
    // An agent without a name is left out, but only after everything else wrong with it was told.
    const address = canonicalAddress(values["ip-address"]) ?? values["ip-address"];
    // Without a port of its own, an agent known by name listens where DNS says.
    const port = address === "" && !map.entries.has("port") ? 0 : values.port;
    const surrogate = readSurrogate(map, path, problems);
    const named = {
      ...values,
      "ip-address": address,
      port,
      hostname: hostname ?? "",
      "rate-constraints": constraints,
      ...(surrogate && { "surrogate-registration": surrogate }),
    };
    const agent = placed(named, map, path);
    checkAgent(agent, problems);
    if (hostname !== undefined) agents.push(agent);
  }
  return agents;
}

function readRateConstraints(agent: MapNode, path: string, problems: Problems): RateConstraint[] {
  const constraints: RateConstraint[] = [];
  for (const [node, itemPath] of eachItem(agent, "rate-constraints", path, problems)) {
    const map = asMap(node, itemPath, problems);
    if (!map) continue;
    refuseUnknownKeys(map, itemPath, Object.keys(rateConstraintParams), problems);
    const values = readTable(map, itemPath, rateConstraintParams, problems);
    const constraint = withDefaults<typeof rateConstraintParams>(rateDefaults, values);
    const place = { line: map.line, path: childPath(itemPath, "method") };
    if (!map.entries.has("method")) problems.error(place, "found nothing, expected the method that it limits");
    else if (constraints.some(({ method }) => method === constraint.method)) {
      problems.error(place, `found ${constraint.method} a second time, expected each method once`);
    }
    constraints.push(constraint);
  }
  return constraints;
}

/** What is wrong or odd within one agent. */
function checkAgent(agent: Placed<AgentParams>, problems: Problems): void {
  const { value: params } = agent;
  const refuse = (key: string, text: string) => problems.error(agent.placeOf(key), text);
  const warn = (key: string, text: string) => problems.warning(agent.placeOf(key), text);

  const address = params["ip-address"];
  if (address !== "" && isIP(address) === 0) {
    refuse("ip-address", `found "${address}", expected a numeric IPv4 or IPv6 address`);
  }
  if (address === "" && params.hostname !== "" && !isHostName(params.hostname)) {
    refuse(
      "hostname",
      `found "${params.hostname}", expected a name that DNS can be asked for, or an ip-address beside it`,
    );
  }
  if (address !== "" && params.port === 0) {
    refuse("port", "found 0, which leaves the port to DNS, expected 1 to 65535 beside an ip-address");
  }

  if (params["tls-verify"] !== "inherit" && params["transport-method"] !== "TLS") {
    warn("tls-verify", "not used, as transport-method is not TLS");
  }

  const method = params["ping-method"];
  const pings = method !== "" && params["ping-interval"] > 0;
  if (!pings && method !== "") warn("ping-method", "no ping is sent, as ping-interval is 0");
  if (!pings && params["ping-interval"] > 0) warn("ping-interval", "no ping is sent, as ping-method is empty");
  if (pings && params["ping-timeout"] > params["ping-interval"]) {
    warn("ping-timeout", "longer than ping-interval, so that the next ping may go out before this one has failed");
  }
  if (!pings && params["time-to-resume"] === 0) {
    refuse("time-to-resume", "found 0 and no ping, expected one of the two: once out of service it could never return");
  }
  if (params["min-asr"] > 0 && params["time-to-resume"] === 0) {
    refuse(
      "time-to-resume",
      "found 0, expected more than 0 beside min-asr: once below it the agent could never return",
    );
  }
  const continuous = params["ping-send-mode"] === "continuous";
  const isSet = (key: CodeList): boolean => params[key].length > 0;
  if (continuous && isSet("out-service-response-codes")) {
    warn("out-service-response-codes", "not used, as ping-send-mode is continuous: ping-out-service-response-codes is");
  }
  if (!continuous && isSet("ping-out-service-response-codes")) {
    warn("ping-out-service-response-codes", "not used, as ping-send-mode is keep-alive: out-service-response-codes is");
  }
  checkPing(agent, problems);
  checkLimits(agent, problems);
}

type CodeList = keyof AgentParams & `${string}-response-codes`;

/** `t1`: of the engine, ms. Its timer F (RFC 3261 section 17.1.2.2) ends a ping at the latest. */
export function warnAboutPingTimeouts(agents: readonly Placed<AgentParams>[], t1: number, problems: Problems): void {
  const most = (64 * t1) / 1_000;
  for (const { value: params, placeOf } of agents) {
    const timeout = params["ping-timeout"];
    if (timeout <= most) continue;
    problems.warning(
      placeOf("ping-timeout"),
      `${timeout} s is longer than the ${most} s that any answer is waited for`,
    );
  }
}

/** As DNS has them (RFC 1035 section 2.3.4), with the underscores that many zones have all the same; or numeric. */
function isHostName(name: string): boolean {
  if (isIP(name) !== 0) return true;
  return name.length <= 253 && /^[a-z\d_-]{1,63}(\.[a-z\d_-]{1,63})*\.?$/i.test(name);
}

const pingMethod = /^\s*([\w.!%*+`'~-]+)\s*(;\s*hops\s*=\s*\d{1,3}\s*)?$/i;

/** They mean nothing outside a transaction or dialog, or would begin one that a ping has no use for. */
const unfitForPings = ["ACK", "CANCEL", "PRACK", "SUBSCRIBE", "REFER"];

function checkPing(agent: Placed<AgentParams>, problems: Problems): void {
  const { value: params } = agent;
  const text = params["ping-method"];
  const method = pingMethod.exec(text)?.[1]?.toUpperCase() ?? "";
  if (text !== "" && (method === "" || unfitForPings.includes(method))) {
    const expected = "expected a SIP method, with ;hops=N where wanted, such as OPTIONS;hops=0";
    problems.error(agent.placeOf("ping-method"), `found "${text}", ${expected}`);
  }
  for (const key of ["ping-from-user-part", "ping-to-user-part"] as const) {
    if (userPart.test(params[key])) continue;
    problems.error(agent.placeOf(key), `found "${params[key]}", expected the user part of a SIP URI`);
  }
}

type Limit = keyof AgentParams & `max-${string}`;

type RateLimit = Exclude<keyof RateConstraint, "method">;

const total = "max-sessions" satisfies Limit;
const directional = ["max-inbound-sessions", "max-outbound-sessions"] as const satisfies readonly Limit[];

/** The window that each rate is counted in. */
const windowOfRate = {
  "max-burst-rate": "burst-rate-window",
  "max-inbound-burst-rate": "burst-rate-window",
  "max-outbound-burst-rate": "burst-rate-window",
  "max-sustain-rate": "sustain-rate-window",
  "max-inbound-sustain-rate": "sustain-rate-window",
  "max-outbound-sustain-rate": "sustain-rate-window",
  "max-register-burst-rate": "register-burst-window",
  "max-register-sustain-rate": "sustain-rate-window",
} as const satisfies Partial<Record<Limit, keyof AgentParams>>;

type Rate = keyof typeof windowOfRate;

/** Rates that never limit where they are above the second. */
const ratesWithin = [
  ["max-sustain-rate", "max-burst-rate"],
  ["max-inbound-sustain-rate", "max-inbound-burst-rate"],
  ["max-outbound-sustain-rate", "max-outbound-burst-rate"],
  ["max-register-sustain-rate", "max-register-burst-rate"],
  ["max-inbound-burst-rate", "max-burst-rate"],
  ["max-outbound-burst-rate", "max-burst-rate"],
  ["max-inbound-sustain-rate", "max-sustain-rate"],
  ["max-outbound-sustain-rate", "max-sustain-rate"],
] as const satisfies readonly (readonly [Rate, Rate])[];

function checkLimits(agent: Placed<AgentParams>, problems: Problems): void {
  const { value: params } = agent;
  for (const limit of directional) {
    if (params[total] > 0 && params[limit] > params[total]) {
      const text = `found ${params[limit]}, expected no more than ${total}, which is ${params[total]}`;
      problems.error(agent.placeOf(limit), text);
    }
  }
  const emptyWindows = new Map<string, string>();
  for (const rate of Object.keys(windowOfRate) as Rate[]) {
    const window = windowOfRate[rate];
    if (params[rate] > 0 && params[window] === 0) emptyWindows.set(window, rate);
  }
  warnOfIdleRates(params, (rate, text) => problems.warning(agent.placeOf(rate), text));
  for (const constraint of params["rate-constraints"]) {
    const { method } = constraint;
    for (const rate of Object.keys(constraint).filter((name) => name !== "method") as RateLimit[]) {
      const window = windowOfRate[rate];
      if (constraint[rate] > 0 && params[window] === 0) emptyWindows.set(window, `${method} ${rate}`);
    }
    warnOfIdleRates(constraint, (rate, text) =>
      problems.warning(agent.placeOf("rate-constraints"), `${method} ${rate}: ${text}`),
    );
  }
  if (params["min-asr"] > 0 && params["sustain-rate-window"] === 0) emptyWindows.set("sustain-rate-window", "min-asr");
  for (const [window, limit] of emptyWindows) {
    problems.error(agent.placeOf(window), `found 0, expected more than 0 beside ${limit}, which is counted in it`);
  }
}

function warnOfIdleRates(
  rates: Readonly<Partial<Record<Rate, number>>>,
  warn: (rate: Rate, text: string) => void,
): void {
  for (const [rate, within] of ratesWithin) {
    const [value = 0, most = 0] = [rates[rate], rates[within]];
    if (most > 0 && value > most) warn(rate, `${value} is above ${within}, which is ${most}, so that it never limits`);
  }
}
