import { failoverParams } from "../routing/params.ts";
import type { SystemParam, SystemParams } from "./read-param.ts";
import { sourceParams } from "./source-params.ts";

const port = (defaultPort: number, doc: string): SystemParam => ({
  format: "number",
  unit: "port",
  default: defaultPort,
  min: 1,
  max: 65_535,
  doc,
});
const milliseconds = (defaultMs: number, doc: string): SystemParam => ({
  format: "number",
  unit: "ms",
  default: defaultMs,
  min: 1,
  max: 60_000,
  doc,
});
const file = (doc: string): SystemParam => ({ format: "text", default: "", doc: `PEM file. ${doc}` });
const seconds = (defaultS: number, max: number, doc: string, min = 0, fraction = false): SystemParam => ({
  format: "number",
  unit: "s",
  default: defaultS,
  min,
  max,
  ...(fraction && { fraction }),
  doc,
});

/** Every scalar of the configuration outside the lists, by section. A dot stands for one level of the file. */
export const systemParams = {
  signalling: {
    engine: {
      format: "choice",
      choices: ["embedded", "drachtio"],
      default: "embedded",
      doc: "Weir's own SIP engine, or an external drachtio-server.",
    },
    thread: {
      format: "choice",
      choices: ["same", "worker"],
      default: "same",
      doc: "Where the embedded engine runs: in the application's thread, or in one of its own.",
    },
    listen: {
      format: "listen",
      default: ["udp://127.0.0.1:5060", "tcp://127.0.0.1:5060"],
      doc: "Where the embedded engine listens. Realms, when there are any, say so instead. Port 0: any free one.",
    },
  },
  "signalling.drachtio": {
    host: { format: "text", default: "127.0.0.1", doc: "Address of the external drachtio-server." },
    port: port(9022, "Its port for applications."),
    secret: { format: "text", default: "cymru", doc: "Its secret." },
  },
  "signalling.tls": {
    certificate: file("Our certificate, followed by those that lead from it to its authority; shown to all peers."),
    key: file("Its private key, without a passphrase."),
    ca: file("Certificates of the authorities that are believed. Empty = the public ones that Node.js brings."),
    "client-certificate": {
      format: "choice",
      choices: ["none", "request", "require"],
      default: "none",
      doc: "Of peers that connect: a certificate is not asked for, or is asked for, or is demanded.",
    },
    verify: {
      format: "switch",
      default: "enabled",
      doc: "disabled: whatever certificate an agent shows will do, save where its own `tls-verify` says otherwise.",
    },
    "min-version": {
      format: "choice",
      choices: ["TLSv1.2", "TLSv1.3"],
      default: "TLSv1.2",
      doc: "The oldest version that is spoken.",
    },
  },
  "signalling.timers": {
    t1: milliseconds(500, "T1, the estimate of the round-trip time (RFC 3261 section 17)."),
    t2: milliseconds(4_000, "T2, the longest pause between retransmissions."),
    t4: milliseconds(5_000, "T4, the longest life of a message in the network."),
  },
  dns: {
    servers: {
      format: "servers",
      default: [],
      doc: "Servers that names are asked of. None: those of the system, and its hosts file.",
    },
    timeout: seconds(2, 30, "Wait for the answer to a question, repetitions and all servers included.", 0.1, true),
    "max-stale": seconds(
      3_600,
      86_400,
      "How long the last good answer serves beyond its time while DNS is silent or in trouble.",
    ),
  },
  sources: sourceParams,
  failover: failoverParams,
  sessions: {
    "max-life-limit": seconds(
      43_200,
      2_000_000,
      "After so long an answered call is ended with BYE to both sides: the last resort where both have left it without one. 0 = never.",
    ),
    "dialog-ping-interval": seconds(
      0,
      86_400,
      "OPTIONS to both sides of every answered call so often; one that knows the call no more, or says nothing, ends it. 0 = never.",
    ),
  },
  overload: {
    "load-limit": {
      format: "number",
      unit: "%",
      default: 0,
      min: 0,
      max: 100,
      doc: "Busy for longer than this share of the time, for two seconds, the process refuses as many new calls and REGISTERs as are too many (`cpu-overload`). 0 = none ever. 98 suits a machine of its own; where others take its processor, waiting for it counts as work.",
    },
  },
  registrations: {
    "max-registrations": {
      format: "number",
      unit: "count",
      default: 200_000,
      min: 1,
      max: 10_000_000,
      doc: "Contacts of phones kept; a REGISTER that would add one more is answered 503 with Retry-After.",
    },
    "max-contacts": {
      format: "number",
      unit: "count",
      default: 10,
      min: 1,
      max: 1_000,
      doc: "Contacts of one address of record; a REGISTER that would add one more is answered 403.",
    },
  },
  "retry-after": {
    min: seconds(5, 3_600, "Shortest Retry-After of a refusal.", 1),
    max: seconds(15, 3_600, "Longest; each refusal draws its own between the two, so that callers spread.", 1),
  },
  drain: {
    timeout: seconds(
      30,
      86_400,
      "After SIGTERM, SIGINT or SIGHUP: the wait for calls to end before they are ended with BYE.",
    ),
  },
  admin: {
    listen: { format: "address", default: "127.0.0.1:8080", doc: "Where the admin API and the metrics are served." },
  },
  logging: {
    level: {
      format: "choice",
      choices: ["trace", "debug", "info", "warn", "error", "fatal", "silent"],
      default: "info",
      doc: "The least severe lines that are written.",
    },
    format: {
      format: "choice",
      choices: ["json", "pretty"],
      default: "json",
      doc: "One JSON object a line, or text for a terminal.",
    },
  },
} as const satisfies Readonly<Record<string, SystemParams>>;

export type SectionName = keyof typeof systemParams;

export const sectionNames = Object.keys(systemParams) as readonly SectionName[];

/** `WEIR_SIGNALLING_ENGINE` for `signalling.engine`. */
export const environmentName = (section: string, name: string): string =>
  `WEIR_${section}_${name}`.toUpperCase().replaceAll(/[.-]/g, "_");
