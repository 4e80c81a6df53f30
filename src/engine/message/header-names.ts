/** How many values a header field may have in one message (RFC 3261 table 2 and section 7.3.1). */
type HeaderKind =
  /** One line, one value: a second line is an error where it would decide something. */
  | "single"
  /** A comma-separated list, possibly over several lines. */
  | "list"
  /** Several lines are legal, but commas inside a value separate nothing (RFC 3261 section 7.3.1). */
  | "lines";

type Row = readonly [wire: string, kind: HeaderKind, compact?: string];

/**
 * The header fields the engine knows by name, most frequent first. The position in this table is the header's code,
 * so the order may change but the codes exported below must follow it.
 */
const table: readonly Row[] = [
  ["Via", "list", "v"],
  ["From", "single", "f"],
  ["To", "single", "t"],
  ["Call-ID", "single", "i"],
  ["CSeq", "single"],
  ["Max-Forwards", "single"],
  ["Contact", "list", "m"],
  ["Content-Length", "single", "l"],
  ["Content-Type", "single", "c"],
  ["Record-Route", "list"],
  ["Route", "list"],
  ["Accept", "list"],
  ["Accept-Contact", "list", "a"],
  ["Accept-Encoding", "list"],
  ["Accept-Language", "list"],
  ["Alert-Info", "list"],
  ["Allow", "list"],
  ["Allow-Events", "list", "u"],
  ["Authentication-Info", "lines"],
  ["Authorization", "lines"],
  ["Call-Info", "list"],
  ["Content-Disposition", "single"],
  ["Content-Encoding", "list", "e"],
  ["Content-ID", "single"],
  ["Content-Language", "list"],
  ["Date", "single"],
  ["Diversion", "list"],
  ["Error-Info", "list"],
  ["Event", "single", "o"],
  ["Expires", "single"],
  ["Geolocation", "list"],
  ["History-Info", "list"],
  ["Identity", "list", "y"],
  ["In-Reply-To", "list"],
  ["Join", "single"],
  ["MIME-Version", "single"],
  ["Min-Expires", "single"],
  ["Min-SE", "single"],
  ["Organization", "single"],
  ["P-Access-Network-Info", "list"],
  ["P-Asserted-Identity", "list"],
  ["P-Charging-Vector", "single"],
  ["P-Preferred-Identity", "list"],
  ["Path", "list"],
  ["Priority", "single"],
  ["Privacy", "single"],
  ["Proxy-Authenticate", "lines"],
  ["Proxy-Authorization", "lines"],
  ["Proxy-Require", "list"],
  ["RAck", "single"],
  ["RSeq", "single"],
  ["Reason", "list"],
  ["Refer-Sub", "single"],
  ["Refer-To", "single", "r"],
  ["Referred-By", "single", "b"],
  ["Reject-Contact", "list", "j"],
  ["Remote-Party-ID", "list"],
  ["Replaces", "single"],
  ["Reply-To", "single"],
  ["Request-Disposition", "list", "d"],
  ["Require", "list"],
  ["Retry-After", "single"],
  ["Server", "single"],
  ["Service-Route", "list"],
  ["Session-Expires", "single", "x"],
  ["SIP-ETag", "single"],
  ["SIP-If-Match", "single"],
  ["Subject", "single", "s"],
  ["Subscription-State", "single"],
  ["Supported", "list", "k"],
  ["Timestamp", "single"],
  ["Unsupported", "list"],
  ["User-Agent", "single"],
  ["User-to-User", "list"],
  ["Warning", "list"],
  ["WWW-Authenticate", "lines"],
];

/** Codes of the headers the engine itself reads. */
export const VIA = 0;
export const FROM = 1;
export const TO = 2;
export const CALL_ID = 3;
export const CSEQ = 4;
export const MAX_FORWARDS = 5;
export const CONTENT_LENGTH = 7;
/** The code of every header the table does not know. */
export const UNKNOWN = -1;

const wireNames = table.map(([wire]) => wire);
const lowerNames = wireNames.map((wire) => wire.toLowerCase());
const kinds = table.map(([, kind]) => kind);
const codes = new Map<string, number>();
for (const [code, [wire, , compact]] of table.entries()) {
  codes.set(wire.toLowerCase(), code);
  if (compact) codes.set(compact, code);
}

/** The code of a lower-case name, full or compact, or `UNKNOWN`. */
export function codeOf(lowerName: string): number {
  return codes.get(lowerName) ?? UNKNOWN;
}

/** The full lower-case name of a known code ("call-id"). */
export function lowerNameOf(code: number): string {
  return lowerNames[code] ?? "";
}

/** The canonical spelling of a known code ("Call-ID"). */
export function wireNameOf(code: number): string {
  return wireNames[code] ?? "";
}

/** Of an unknown header (`UNKNOWN`) nothing is known, so its commas separate nothing. */
export function kindOf(code: number): HeaderKind {
  return kinds[code] ?? "lines";
}

/** "call-id" and "i" → "Call-ID"; an unknown name gets a capital after every dash ("x-trunk" → "X-Trunk"). */
export function wireName(name: string): string {
  const code = codeOf(name.toLowerCase());
  return code === UNKNOWN ? capitalised(name) : wireNameOf(code);
}

function capitalised(name: string): string {
  let result = "";
  let capital = true;
  for (const char of name) {
    result += capital ? char.toUpperCase() : char;
    capital = char === "-";
  }
  return result;
}

/*
 * Scanning: names inside a message are looked up by length, first and last character. Nearly all come in their canonical
 * spelling, for which one comparison of strings is several times cheaper than one character by character.
 */
interface Spelling {
  readonly wire: string;
  readonly lower: string;
  readonly code: number;
}

const BUCKETS = 256;
const buckets: Spelling[][] = Array.from({ length: BUCKETS }, () => []);

/** Letters fall together with their other case; that others do too only costs a comparison. */
function bucketOf(text: string, start: number, end: number): number {
  const first = text.charCodeAt(start) | 0x20;
  const last = text.charCodeAt(end - 1) | 0x20;
  return ((end - start) * 37 + first * 5 + last) & (BUCKETS - 1);
}

for (const [code, [wire, , compact]] of table.entries()) {
  for (const spelling of compact ? [wire, compact] : [wire]) {
    buckets[bucketOf(spelling, 0, spelling.length)]?.push({ wire: spelling, lower: spelling.toLowerCase(), code });
  }
}

/** The code of the name at [start, end) of `text`, which is not empty; `UNKNOWN` if it is not in the table. */
export function codeAt(text: string, start: number, end: number): number {
  const bucket = buckets[bucketOf(text, start, end)];
  if (bucket === undefined || bucket.length === 0) return UNKNOWN;
  const name = text.slice(start, end);
  for (const { wire, code } of bucket) if (wire === name) return code;
  for (const { lower, code } of bucket) if (equalsIgnoringCase(text, start, end, lower)) return code;
  return UNKNOWN;
}

/** Whether [start, end) of `text` spells `lower`, which must be in lower case. */
export function equalsIgnoringCase(text: string, start: number, end: number, lower: string): boolean {
  if (end - start !== lower.length) return false;
  for (let at = 0; at < lower.length; at++) {
    let code = text.charCodeAt(start + at);
    if (code >= 65 && code <= 90) code += 32;
    if (code !== lower.charCodeAt(at)) return false;
  }
  return true;
}
