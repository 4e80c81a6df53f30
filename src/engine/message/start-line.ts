import { isToken } from "./chars.ts";
import { isVisible, parseNatural, parseUri, type SipUri, uriScheme } from "./uri.ts";

/** A request line or a status line. */
export interface StartLine {
  /** Of a request; "" in a response. */
  readonly method: string;
  readonly uri: string;
  /** The parsed Request-URI if it is a SIP one. */
  readonly target: SipUri | undefined;
  /** 100 to 699 in a response; 0 in a request. */
  readonly status: number;
  readonly reasonPhrase: string;
  /** Where the first header line starts. */
  readonly end: number;
  /** What is wrong, "" when nothing is; the status to refuse with is `refusal`. */
  readonly problem: string;
  readonly refusal: number;
}

/** Parses the line that starts at `at`; undefined when it is not recognisable as SIP, so that no answer is due. */
export function parseStartLine(text: string, at: number): StartLine | undefined {
  const lf = text.indexOf("\n", at);
  if (lf < 0) return undefined;
  const bare = text.charCodeAt(lf - 1) !== 13;
  const end = bare ? lf : lf - 1;
  const line = bare ? "Bare Carriage Return Or Line Feed" : "";
  if (text.startsWith("SIP/", at)) return parseStatusLine(text, at, end, lf + 1);
  const space = text.indexOf(" ", at);
  const last = text.lastIndexOf(" ", end - 1);
  if (space < 0 || last <= space || last >= end) return undefined;
  const method = text.slice(at, space);
  if (!isToken(method)) return undefined;
  const uri = text.slice(space + 1, last);
  const target = parseUri(uri);
  const version = text.slice(last + 1, end);
  const fault = versionFault(version) ?? (target === undefined ? otherUriFault(uri) : sipUriFault(target));
  return {
    method,
    uri,
    target,
    status: 0,
    reasonPhrase: "",
    end: lf + 1,
    problem: fault?.problem ?? line,
    refusal: fault?.refusal ?? 400,
  };
}

/** Whether `version` is SIP/2.0; the case of the letters does not matter (RFC 3261 section 7.1). */
function isVersion2(version: string): boolean {
  return version === "SIP/2.0" || version.toUpperCase() === "SIP/2.0";
}

interface Fault {
  readonly problem: string;
  readonly refusal: number;
}

const badRequestLine: Fault = { problem: "Malformed Request Line", refusal: 400 };
const badVersion: Fault = { problem: "Version Not Supported", refusal: 505 };
const badRequestUri: Fault = { problem: "Malformed Request-URI", refusal: 400 };
const unknownScheme: Fault = { problem: "Unsupported URI Scheme", refusal: 416 };

function versionFault(version: string): Fault | undefined {
  if (isVersion2(version)) return undefined;
  return /^SIP\/\d+\.\d+$/i.test(version) ? badVersion : badRequestLine;
}

/** A SIP Request-URI may carry no headers (RFC 3261 section 19.1.1, table 1). */
function sipUriFault(uri: SipUri): Fault | undefined {
  return uri.headers === "" ? undefined : badRequestUri;
}

function otherUriFault(uri: string): Fault | undefined {
  const scheme = uriScheme(uri);
  if (scheme === "" || scheme === "sip" || scheme === "sips" || !isVisible(uri)) return badRequestUri;
  return scheme === "tel" ? undefined : unknownScheme;
}

/** `SIP/2.0 200 OK`. A response that is broken here is dropped, so a fault needs no words. */
function parseStatusLine(text: string, at: number, lineEnd: number, end: number): StartLine | undefined {
  if (!text.startsWith("SIP/2.0 ", at) || end !== lineEnd + 2) return undefined;
  const status = parseNatural(text.slice(at + 8, at + 11), 699);
  const follows = text.charCodeAt(at + 11);
  // The space before an empty reason phrase is often left out.
  if (status < 100 || (follows !== 32 && at + 11 !== lineEnd)) return undefined;
  const reasonPhrase = at + 12 <= lineEnd ? text.slice(at + 12, lineEnd) : "";
  // It is passed on, where a bare CR might be taken for a line end.
  if (reasonPhrase.includes("\r")) return undefined;
  return { method: "", uri: "", target: undefined, status, reasonPhrase, end, problem: "", refusal: 0 };
}
