import { SPACE, skipClass, skipSpace, TOKEN, trimmedEnd } from "./chars.ts";
import { ENTRY, type HeaderIndex, indexHeaders, NAME_END, NAME_START, VALUE_END, VALUE_START } from "./header-index.ts";
import {
  CALL_ID,
  CSEQ,
  codeOf,
  equalsIgnoringCase,
  FROM,
  kindOf,
  lowerNameOf,
  MAX_FORWARDS,
  TO,
  UNKNOWN,
  VIA,
  wireNameOf,
} from "./header-names.ts";
import { MalformedMessage } from "./malformed-message.ts";
import { addressTag } from "./name-addr.ts";
import { splitValues } from "./params.ts";
import { parseStartLine, type StartLine } from "./start-line.ts";
import { parseNatural, type SipUri } from "./uri.ts";
import { faultOf } from "./validate.ts";
import { parseVia, type Via } from "./via.ts";

export { MalformedMessage } from "./malformed-message.ts";
export type { Via } from "./via.ts";

/** Characters of one whole message: no UDP datagram is longer, and no stream message may be. */
export const MAX_MESSAGE = 65_535;

/** What `topVia` is when there is none (messages from the application). */
const NO_VIA: Via = {
  protocol: "",
  host: "",
  port: 0,
  branch: "",
  rport: undefined,
  received: "",
  maddr: "",
  ttl: "",
  text: "",
  wellFormed: false,
};

/**
 * One SIP message over its latin1 text (one character per byte). The header lines are indexed once; values are cut out and
 * decoded only when asked for. Header names given to the methods are full names in lower case ("call-id"); lines that came
 * in the compact form are found too.
 */
export class SipMessage {
  /** The whole message as received, a body cut to Content-Length included. */
  readonly text: string;
  readonly isRequest: boolean;
  /** Of a request: from the request line. Of a response: from the CSeq. */
  readonly method: string;
  /** As received; "" in a response. */
  readonly requestUri: string;
  /** The Request-URI when it is a SIP or SIPS one; undefined for another scheme and in a response. */
  readonly target: SipUri | undefined;
  /** 100 to 699; 0 in a request. */
  readonly status: number;
  readonly reasonPhrase: string;
  readonly #fieldsStart: number;
  readonly #entries: readonly number[];
  readonly #bodyStart: number;
  readonly #bodyEnd: number;
  #cseq = -1;
  #cseqMethod = "";
  #callId: string | undefined;
  /** null: the header is missing or malformed. */
  #fromTag: string | null | undefined;
  #toTag: string | null | undefined;
  #topVia: Via | undefined;

  constructor(text: string, start: StartLine, index: HeaderIndex, bodyEnd: number) {
    this.text = text;
    this.#fieldsStart = start.end;
    this.#entries = index.entries;
    this.#bodyStart = index.bodyStart;
    this.#bodyEnd = bodyEnd;
    this.isRequest = start.status === 0;
    this.requestUri = start.uri;
    this.target = start.target;
    this.status = start.status;
    this.reasonPhrase = start.reasonPhrase;
    this.method = this.isRequest ? start.method : this.cseqMethod;
  }

  /** Header lines and body as received. */
  get fields(): string {
    return this.text.slice(this.#fieldsStart, this.#bodyEnd);
  }

  get body(): string {
    return this.text.slice(this.#bodyStart, this.#bodyEnd);
  }

  /** The sequence number, 0 to 2^31-1; -1 when there is no valid CSeq. */
  get cseq(): number {
    this.#readCseq();
    return this.#cseq;
  }

  /** The method in the CSeq, "" when there is no valid one. */
  get cseqMethod(): string {
    this.#readCseq();
    return this.#cseqMethod;
  }

  get callId(): string {
    this.#callId ??= this.#first(CALL_ID) ?? "";
    return this.#callId;
  }

  /** "" when there is none. */
  get fromTag(): string {
    return this.#readFromTag() ?? "";
  }

  /** "" when there is none. */
  get toTag(): string {
    return this.#readToTag() ?? "";
  }

  /** Whether From is there and well formed. */
  get hasValidFrom(): boolean {
    return this.#readFromTag() !== null;
  }

  /** Whether To is there and well formed. */
  get hasValidTo(): boolean {
    return this.#readToTag() !== null;
  }

  /** The branch of the top Via, "" when absent. */
  get branch(): string {
    return this.topVia.branch;
  }

  /** The first Via value; one whose `text` is "" when there is none that says where a response should go. */
  get topVia(): Via {
    if (this.#topVia === undefined) {
      const line = this.#first(VIA);
      this.#topVia = (line === undefined ? undefined : parseVia(line)) ?? NO_VIA;
    }
    return this.#topVia;
  }

  /** 0 to 255; -1 when absent or malformed. */
  get maxForwards(): number {
    return parseNatural(this.#first(MAX_FORWARDS) ?? "", 255);
  }

  /** The first line's value, unfolded and trimmed. */
  header(name: string): string | undefined {
    const code = codeOf(name);
    if (code !== UNKNOWN) return this.#first(code);
    for (let at = 0; at < this.#entries.length; at += ENTRY) {
      if (this.#isNamed(at, code, name)) return this.#value(at);
    }
    return undefined;
  }

  /** Every line's value in order, not split at commas. */
  headers(name: string): string[] {
    const code = codeOf(name);
    const values: string[] = [];
    for (let at = 0; at < this.#entries.length; at += ENTRY) {
      if (this.#isNamed(at, code, name)) values.push(this.#value(at));
    }
    return values;
  }

  /**
   * Every value in order. Those of a list header are split at the commas outside quotes and angle brackets; in other headers,
   * unknown ones too, commas separate nothing (RFC 3261 section 7.3.1).
   */
  headerValues(name: string): string[] {
    const lines = this.headers(name);
    if (kindOf(codeOf(name)) !== "list") return lines;
    if (lines.length === 1 && lines[0] !== "" && !lines[0]?.includes(",")) return lines;
    return lines.flatMap(splitValues);
  }

  /**
   * Visits every header line in order. `lowerName` is the full lower-case name, `wireName` the canonical spelling of a known
   * header, or the one received. Lines whose name is also a property of every JavaScript object ("constructor") are left
   * out: the application's library keeps headers in plain objects, where such a name would do harm.
   */
  eachHeader(visit: (lowerName: string, wireName: string, value: string) => void): void {
    const entries = this.#entries;
    for (let at = 0; at < entries.length; at += ENTRY) {
      const code = entries[at] ?? UNKNOWN;
      if (code !== UNKNOWN) {
        visit(lowerNameOf(code), wireNameOf(code), this.#value(at));
        continue;
      }
      const name = this.text.slice(entries[at + NAME_START], entries[at + NAME_END]);
      const lower = name.toLowerCase();
      if (!objectProperties.has(lower)) visit(lower, name, this.#value(at));
    }
  }

  #isNamed(at: number, code: number, lowerName: string): boolean {
    const entries = this.#entries;
    if (entries[at] !== code) return false;
    if (code !== UNKNOWN) return true;
    return equalsIgnoringCase(this.text, entries[at + NAME_START] ?? 0, entries[at + NAME_END] ?? 0, lowerName);
  }

  #first(code: number): string | undefined {
    const entries = this.#entries;
    for (let at = 0; at < entries.length; at += ENTRY) if (entries[at] === code) return this.#value(at);
    return undefined;
  }

  #value(at: number): string {
    const end = this.#entries[at + VALUE_END] ?? 0;
    const start = this.#entries[at + VALUE_START] ?? 0;
    if (end >= 0) return this.text.slice(start, end);
    return unfold(this.text.slice(start, ~end));
  }

  #readFromTag(): string | null {
    if (this.#fromTag === undefined) this.#fromTag = addressTag(this.#first(FROM) ?? "") ?? null;
    return this.#fromTag;
  }

  #readToTag(): string | null {
    if (this.#toTag === undefined) this.#toTag = addressTag(this.#first(TO) ?? "") ?? null;
    return this.#toTag;
  }

  #readCseq(): void {
    if (this.#cseq !== -1) return;
    const value = this.#first(CSEQ);
    if (value === undefined) return;
    const end = skipClass(value, 0, value.length, TOKEN);
    const number = parseNatural(value.slice(0, end), MAX_CSEQ);
    if (number < 0) return;
    this.#cseq = number;
    this.#cseqMethod = value.slice(skipSpace(value, end));
  }
}

/**
 * A fold and the white space around it are worth one space (RFC 3261 section 7.3.1). By hand: the regular expression for it
 * takes quadratic time over a long run of spaces, and `trim` takes bytes of UTF-8 text for white space.
 */
function unfold(value: string): string {
  let result = "";
  for (let at = 0; at < value.length; ) {
    const lf = value.indexOf("\n", at);
    const end = lf < 0 ? value.length : lf;
    const start = skipClass(value, at, end, SPACE);
    const part = value.slice(start, trimmedEnd(value, start, end));
    if (part !== "") result += result === "" ? part : ` ${part}`;
    at = end + 1;
  }
  return result;
}

/** RFC 3261 section 8.1.1.5: less than 2^31. */
const MAX_CSEQ = 2 ** 31 - 1;

const objectProperties = new Set(Object.getOwnPropertyNames(Object.prototype).map((name) => name.toLowerCase()));

/**
 * Parses one whole message: a datagram, or what the framing of a stream cut out. `lenient` is for messages from the
 * application: only the start line and the header syntax are checked, and the body is everything behind the blank line.
 * `packed`: the message's own header lines and body follow the first blank line, and what stands before it is not read.
 */
export function parseMessage(
  text: string,
  options?: { lenient?: boolean; packed?: boolean },
): SipMessage | MalformedMessage {
  const lenient = options?.lenient === true;
  if (text.length > MAX_MESSAGE && !lenient) return new MalformedMessage(0, "Message Too Large");
  let at = 0;
  // RFC 3261 section 7.5: empty lines before the start line are ignored.
  while (text.charCodeAt(at) === 13 && text.charCodeAt(at + 1) === 10) at += 2;
  const start = parseStartLine(text, at);
  if (start === undefined) return new MalformedMessage(0, "Malformed Start Line");
  const index = indexHeaders(text, options?.packed ? packedStart(text, start.end) : start.end);
  if (!lenient) return judge(text, start, index);
  const problem = start.problem || index.problem;
  return problem === "" ? new SipMessage(text, start, index, text.length) : new MalformedMessage(400, problem);
}

/** Behind the first blank line; `at` when there is nothing, as in what drachtio-srf says of itself. */
function packedStart(text: string, at: number): number {
  const start = text.indexOf("\r\n\r\n", at - 2) + 4;
  return start < text.length ? start : at;
}

/** RFC 3261 section 25.1 allows NUL only as a quoted pair. Passed on, it makes a strict peer drop the whole message. */
function hasNul(text: string, end: number): boolean {
  for (let at = text.indexOf("\0"); at >= 0 && at < end; at = text.indexOf("\0", at + 1)) {
    if (text.charCodeAt(at - 1) !== 0x5c) return true;
  }
  return false;
}

/**
 * The verdict over a message from the network (RFC 3261 sections 8.1.1, 8.2.2 and 16.3): itself when every part the engine
 * relies on is there and well formed. A broken request is answered if its Via says to whom; a broken ACK or response is
 * dropped.
 */
function judge(text: string, start: StartLine, index: HeaderIndex): SipMessage | MalformedMessage {
  const available = text.length - index.bodyStart;
  const whole = new SipMessage(text, start, index, text.length);
  const stated = whole.header("content-length");
  const length = stated === undefined ? available : parseNatural(stated, available);
  const problem =
    start.problem ||
    index.problem ||
    (hasNul(text, index.bodyStart) ? "NUL in Header" : "") ||
    (length < 0 ? "Wrong Content-Length" : "") ||
    faultOf(whole);
  if (problem === "") {
    // What follows the body in a datagram is ignored (RFC 3261 section 18.3).
    return length === available
      ? whole
      : new SipMessage(text.slice(0, index.bodyStart + length), start, index, index.bodyStart + length);
  }
  if (start.status !== 0 || whole.method === "ACK" || whole.topVia.text === "") return new MalformedMessage(0, problem);
  return new MalformedMessage(start.problem === problem ? start.refusal : 400, problem, whole);
}
