import { skipClass, skipSpace, TOKEN, trimmedEnd } from "./chars.ts";
import { readParams, valueEnd } from "./params.ts";
import { type HostPort, parseHostPort } from "./uri.ts";

/** One Via value (RFC 3261 section 20.42). Absent text is "", an absent port 0. */
export interface Via {
  /** "UDP", "TCP", "TLS", … in upper case. */
  readonly protocol: string;
  readonly host: string;
  readonly port: number;
  readonly branch: string;
  /** undefined: not there; "": the request to fill it in (RFC 3581); else the port. */
  readonly rport: string | undefined;
  readonly received: string;
  readonly maddr: string;
  readonly ttl: string;
  /** The whole value as received. */
  readonly text: string;
  /** False when only so much of it could be read that the request can be refused: parameters or version are wrong. */
  readonly wellFormed: boolean;
}

/** Parses the first value in a Via header line; undefined when it does not even say where a response should go. */
export function parseVia(line: string): Via | undefined {
  const end = valueEnd(line, 0);
  const text = end === line.length ? line : line.slice(0, trimmedEnd(line, 0, end));
  const usual = text.startsWith("SIP/2.0/");
  const protocolStart = usual ? skipSpace(text, 8) : transportStart(text);
  if (protocolStart < 0) return undefined;
  const version2 = usual || /^\s*SIP\s*\/\s*2\.0\s*\//i.test(text);
  const protocolEnd = skipClass(text, protocolStart, text.length, TOKEN);
  const sentByStart = skipSpace(text, protocolEnd);
  if (protocolEnd === protocolStart || sentByStart === protocolEnd) return undefined;
  const semicolon = text.indexOf(";", sentByStart);
  const params = semicolon < 0 ? text.length : semicolon;
  const sentBy = parseSentBy(text.slice(sentByStart, trimmedEnd(text, sentByStart, params)));
  if (sentBy === undefined) return undefined;
  const via = new ParsedVia(upperCase(text.slice(protocolStart, protocolEnd)), sentBy.host, sentBy.port, text);
  via.wellFormed = version2 && readParams(text, params, (name, value) => via.take(name, value));
  return via;
}

function upperCase(protocol: string): string {
  return protocol === "UDP" || protocol === "TCP" ? protocol : protocol.toUpperCase();
}

/** Where the transport name stands behind `SIP / 2.0 /`, white space around the slashes minded; -1 when it does not. */
function transportStart(text: string): number {
  let at = skipSpace(text, 0);
  for (let part = 0; part < 2; part++) {
    const end = skipClass(text, at, text.length, TOKEN);
    const slash = skipSpace(text, end);
    if (end === at || text[slash] !== "/") return -1;
    at = skipSpace(text, slash + 1);
  }
  return at;
}

/** `host : port` may hold white space around the colon (RFC 3261 section 25.1 COLON). */
function parseSentBy(text: string): HostPort | undefined {
  const colon = text.lastIndexOf(":");
  if (colon < 0 || !text.includes(" ")) return parseHostPort(text);
  return parseHostPort(`${text.slice(0, trimmedEnd(text, 0, colon))}:${text.slice(skipSpace(text, colon + 1))}`);
}

class ParsedVia implements Via {
  wellFormed = false;
  branch = "";
  rport: string | undefined = undefined;
  received = "";
  maddr = "";
  ttl = "";

  constructor(
    readonly protocol: string,
    readonly host: string,
    readonly port: number,
    readonly text: string,
  ) {}

  /** Keeps a parameter if it is one that Via defines. */
  take(name: string, value: string): void {
    if (name === "branch") this.branch = value;
    else if (name === "rport") this.rport = value;
    else if (name === "received") this.received = value;
    else if (name === "maddr") this.maddr = value;
    else if (name === "ttl") this.ttl = value;
  }
}
