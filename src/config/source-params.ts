import type { SystemParams } from "./read-param.ts";

/** What keeps sources away before anything is made of their requests. */
export const sourceParams = {
  "allow-from": {
    format: "networks",
    default: [],
    doc: "Networks that are heard beside the session agents. None: everybody.",
  },
  "deny-from": { format: "networks", default: [], doc: "Networks that are not heard, session agents among them." },
  "max-source-rate": {
    format: "number",
    unit: "requests/s",
    default: 0,
    min: 0,
    max: 100_000,
    fraction: true,
    doc: "Requests per second of one address that is no session agent's. 0 = no limit.",
  },
  "source-rate-window": {
    format: "number",
    unit: "s",
    default: 1,
    min: 1,
    max: 3_600,
    doc: "Fixed window of max-source-rate.",
  },
  "drop-user-agents": {
    format: "texts",
    default: [
      "friendly-scanner",
      "sipvicious",
      "sipcli",
      "sip-scan",
      "sundayddr",
      "VaxSIPUserAgent",
      "pplsip",
      "iWar",
      "siparmyknife",
    ],
    doc: "Requests whose User-Agent contains one of these, in any case, are dropped unanswered. [] = none.",
  },
} as const satisfies SystemParams;
