import type { Params, ValuesOf } from "../params.ts";

const sessions = (doc: string) =>
  ({ format: "number", unit: "sessions", default: 0, min: 0, max: 1_000_000, doc: `${doc} 0 = no limit.` }) as const;
const rate = (doc: string, unit = "sessions/s") =>
  ({ format: "number", unit, default: 0, min: 0, max: 100_000, fraction: true, doc: `${doc} 0 = no limit.` }) as const;
const seconds = (defaultS: number, doc: string, min = 0) =>
  ({ format: "number", unit: "s", default: defaultS, min, max: 86_400, fraction: true, doc }) as const;
const threshold = (defaultCount: number, doc: string, min = 0) =>
  ({ format: "number", unit: "count", default: defaultCount, min, max: 1_000, doc }) as const;
const text = (doc: string) => ({ format: "text", default: "", doc }) as const;
const codes = (doc: string) => ({ format: "codes", default: [] as readonly string[], doc }) as const;

/** Every parameter of a session agent (SEMANTICS.md sections 2 to 4 and 8), beside its hostname and `rate-constraints`. */
export const agentParams = {
  "ip-address": text("Numeric address; without it the hostname is looked up (RFC 3263)."),
  port: {
    format: "number",
    unit: "port",
    default: 5060,
    min: 0,
    max: 65_535,
    doc: "SIP port. With TLS the default is 5061. Left out, or 0, without an ip-address: DNS tells it (SRV).",
  },
  "transport-method": {
    format: "choice",
    choices: ["UDP", "TCP", "TLS"],
    default: "UDP",
    doc: "Transport towards the agent.",
  },
  "tls-verify": {
    format: "choice",
    choices: ["inherit", "enabled", "disabled"],
    default: "inherit",
    doc: "Whether the agent's certificate must name its hostname or address and be of a known authority, or as `signalling.tls` says.",
  },
  "realm-id": text("The realm the agent belongs to; empty = `default`."),
  state: {
    format: "choice",
    choices: ["enabled", "draining", "disabled"],
    default: "enabled",
    doc: "Administrative state.",
  },
  constraints: { format: "switch", default: "enabled", doc: "disabled: counts go on, no limit refuses." },

  "max-sessions": sessions("Concurrent sessions, inbound and outbound together."),
  "max-inbound-sessions": sessions("Concurrent sessions received from the agent."),
  "max-outbound-sessions": sessions("Concurrent sessions sent to the agent."),
  "max-burst-rate": rate("Session attempts per second over burst-rate-window, both directions."),
  "max-inbound-burst-rate": rate("The same, received from the agent."),
  "max-outbound-burst-rate": rate("The same, sent to the agent."),
  "max-sustain-rate": rate(
    "Session attempts per second averaged over one to two sustain-rate-windows, both directions.",
  ),
  "max-inbound-sustain-rate": rate("The same, received from the agent."),
  "max-outbound-sustain-rate": rate("The same, sent to the agent."),
  "burst-rate-window": seconds(1, "Fixed window of the burst rates."),
  "sustain-rate-window": seconds(30, "Window of the sustained rates and of the answer-seizure ratio."),
  "min-asr": {
    format: "number",
    unit: "%",
    default: 0,
    min: 0,
    max: 100,
    doc: "Lowest answer-seizure ratio. 0 = off.",
  },
  "min-seizures": threshold(5, "Attempts before min-asr is judged.", 1),
  "max-register-burst-rate": rate("New REGISTERs per second over register-burst-window.", "REGISTER/s"),
  "register-burst-window": seconds(1, "Fixed window of max-register-burst-rate."),
  "max-register-sustain-rate": rate("New REGISTERs per second over sustain-rate-window.", "REGISTER/s"),

  "trans-timeouts": threshold(
    1,
    "Consecutive transaction timeouts of real traffic that take the agent out. 0 = never.",
  ),
  "out-service-response-codes": codes(
    "keep-alive: these answers to a ping or a dialog-creating request take the agent out.",
  ),
  "ping-out-service-response-codes": codes("continuous: these answers to a ping take the agent out."),
  "ping-in-service-response-codes": codes("These answers to a ping bring the agent back, beside the successful ones."),
  "time-to-resume": seconds(30, "Wait before the agent comes back by timer. 0 = never by timer."),
  "ttr-no-response": seconds(
    0,
    "Replaces time-to-resume where the cause was silence or transport. 0 = use time-to-resume.",
  ),
  "in-service-period": seconds(0, "Standby before in-service."),
  "ping-method": text("SIP method of the ping, with an optional `;hops=N`. Empty = no ping."),
  "ping-interval": seconds(0, "Time between pings. 0 = no ping."),
  "ping-send-mode": {
    format: "choice",
    choices: ["keep-alive", "continuous"],
    default: "keep-alive",
    doc: "When pings are sent.",
  },
  "ping-timeout": seconds(0, "Wait for the answer to a ping. 0 = transaction timer F."),
  "ping-all-addresses": { format: "switch", default: "enabled", doc: "Ping every address the hostname resolves to." },
  "ping-failure-threshold": threshold(1, "Consecutive ping timeouts that take the agent out.", 1),
  "ping-success-threshold": threshold(1, "Consecutive good pings that bring the agent back.", 1),
  "ping-from-user-part": text("User part of the ping's From."),
  "ping-to-user-part": text("User part of the ping's Request-URI and To."),
  "redirect-action": {
    format: "choice",
    choices: ["inherit", "proxy", "recurse"],
    default: "inherit",
    doc: "What a 3xx of the agent does: pass back, follow its Contacts, or as `failover` or the group says.",
  },
  "in-translationid": text("`translation-rules` for the numbers of calls from the agent; empty = those of its realm."),
  "out-translationid": text("`translation-rules` for the numbers of calls to the agent; empty = those of its realm."),
  "in-header-rules": text("`header-rules` for messages from the agent. Empty = none."),
  "out-header-rules": text("`header-rules` for messages to the agent. Empty = none."),
  "auth-user": text("User name that answers the agent's digest challenges. Empty = they are not answered."),
  "auth-realm": text("The realm that the credentials are for; empty = whatever realm the agent challenges for."),
  "auth-password-env": text("Environment variable that holds the password."),
  "auth-password-file": text("File that holds the password in its first line; relative to the configuration file."),
  "max-retry-after": seconds(60, "Cap on a Retry-After that the agent answers with 503. 0 = ignore it."),
} as const satisfies Params;

/** One method's own rates, out of dialog (SEMANTICS.md section 3, `rate-constraints`). */
export const rateConstraintParams = {
  method: {
    format: "choice",
    choices: ["INVITE", "NOTIFY", "OPTIONS", "MESSAGE", "PUBLISH", "REGISTER", "SUBSCRIBE"],
    default: "MESSAGE",
    doc: "The method.",
  },
  "max-inbound-burst-rate": rate("Received from the agent.", "requests/s"),
  "max-outbound-burst-rate": rate("Sent to the agent.", "requests/s"),
  "max-inbound-sustain-rate": rate("Received from the agent.", "requests/s"),
  "max-outbound-sustain-rate": rate("Sent to the agent.", "requests/s"),
} as const satisfies Params;

export type RateConstraint = ValuesOf<typeof rateConstraintParams>;

/** Our registration with the agent, as a phone's with its registrar (RFC 3261 section 10). */
export const surrogateParams = {
  aor: text(
    "The address of record: `user`, `user@domain`, or a SIP URI. Without a domain, that of the agent's address.",
  ),
  "contact-user": text("User part of our Contact, to which the agent sends calls; empty = that of the aor."),
  expires: { format: "number", unit: "s", default: 3_600, min: 30, max: 86_400, doc: "Life that is asked for." },
  "retry-interval": {
    format: "number",
    unit: "s",
    default: 10,
    min: 0.1,
    max: 3_600,
    fraction: true,
    doc: "Pause after a failure; it doubles with each one up to 32 times that.",
  },
} as const satisfies Params;

export type SurrogateParams = ValuesOf<typeof surrogateParams>;

/** A session agent as configured: checked, with every default filled in. */
export type AgentParams = ValuesOf<typeof agentParams> & {
  /** Unique name; also what is resolved when there is no ip-address. */
  readonly hostname: string;
  readonly "rate-constraints": readonly RateConstraint[];
  /** Without a registration the agent is out of service; undefined = it needs none. */
  readonly "surrogate-registration"?: SurrogateParams | undefined;
  /** `host:port` of its realm's listener, that requests to it leave from; absent where there is only one to leave from. */
  readonly listener?: string;
};
