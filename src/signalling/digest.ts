import { createHash } from "node:crypto";
import type { Credentials } from "../secret.ts";

/** A Digest challenge (RFC 7616 section 3.3, RFC 8760). */
export interface Challenge {
  readonly realm: string;
  readonly nonce: string;
  readonly opaque: string | undefined;
  readonly algorithm: Algorithm;
  /** undefined: the server is of RFC 2069 and knows none. */
  readonly qop: "auth" | "auth-int" | undefined;
  /** The credentials were right, but for a nonce that is too old. */
  readonly stale: boolean;
}

export type Algorithm = keyof typeof hashes;

/** As challenges write them, in the lower case, with Node's name of the hash. */
const hashes = {
  md5: "md5",
  "md5-sess": "md5",
  "sha-256": "sha256",
  "sha-256-sess": "sha256",
  "sha-512-256": "sha512-256",
  "sha-512-256-sess": "sha512-256",
} as const;

const wireNames: Readonly<Record<Algorithm, string>> = {
  md5: "MD5",
  "md5-sess": "MD5-sess",
  "sha-256": "SHA-256",
  "sha-256-sess": "SHA-256-sess",
  "sha-512-256": "SHA-512-256",
  "sha-512-256-sess": "SHA-512-256-sess",
};

/** Where a new challenge starts in a joined value: a comma or a line end, then a scheme, then its first parameter. */
const boundary = /(?:,\s*|\r\n[\w-]+:\s*)(?=[A-Za-z][\w-]*[ \t]+[\w-]+\s*=)/;

/** The challenges of a WWW-Authenticate or Proxy-Authenticate, repetitions joined by commas, that we can answer, in order. */
export function readChallenges(value: string): Challenge[] {
  return value
    .split(boundary)
    .map(readChallenge)
    .filter((challenge) => challenge !== undefined);
}

function readChallenge(text: string): Challenge | undefined {
  const scheme = /^\s*digest[ \t]+/i.exec(text);
  if (!scheme) return undefined;
  const params = readParams(text.slice(scheme[0].length));
  const realm = params.get("realm");
  const nonce = params.get("nonce");
  const algorithm = (params.get("algorithm") ?? "MD5").toLowerCase();
  const offered = params
    .get("qop")
    ?.toLowerCase()
    .split(/\s*,\s*/);
  const qop = offered && (["auth", "auth-int"] as const).find((each) => offered.includes(each));
  if (realm === undefined || nonce === undefined || !isAlgorithm(algorithm) || (offered && !qop)) return undefined;
  const stale = params.get("stale")?.toLowerCase() === "true";
  return { realm, nonce, opaque: params.get("opaque"), algorithm, qop, stale };
}

const isAlgorithm = (name: string): name is Algorithm => Object.hasOwn(hashes, name);

function readParams(text: string): Map<string, string> {
  const params = new Map<string, string>();
  for (const [, name = "", quoted, token = ""] of text.matchAll(/([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g)) {
    const key = name.toLowerCase();
    if (!params.has(key)) params.set(key, quoted === undefined ? token : quoted.replace(/\\(.)/g, "$1"));
  }
  return params;
}

/** The first challenge is the server's own preference (RFC 8760 section 2.4). Undefined when none is for these credentials. */
export const answerable = (challenges: readonly Challenge[], { realm }: Credentials): Challenge | undefined =>
  challenges.find((challenge) => realm === "" || challenge.realm === realm);

/** What credentials are computed for. */
export interface DigestRequest {
  readonly method: string;
  /** The request URI. */
  readonly uri: string;
  readonly body: string;
  /** How often the nonce has been used, this time included. */
  readonly count: number;
  /** Our own random text. */
  readonly cnonce: string;
}

/** The value of Authorization or Proxy-Authorization (RFC 7616 section 3.4). */
export function digestCredentials(challenge: Challenge, credentials: Credentials, request: DigestRequest): string {
  const { realm, nonce, opaque, algorithm, qop } = challenge;
  const user = onTheWire(credentials.user);
  const { method, uri, body, cnonce } = request;
  const hash = (text: string): string => createHash(hashes[algorithm]).update(text, "latin1").digest("hex");
  const count = request.count.toString(16).padStart(8, "0");
  const password = hash(`${user}:${realm}:${onTheWire(credentials.password.reveal())}`);
  const secret = algorithm.endsWith("-sess") ? hash(`${password}:${nonce}:${cnonce}`) : password;
  const subject = hash(qop === "auth-int" ? `${method}:${uri}:${hash(body)}` : `${method}:${uri}`);
  const response = hash(
    qop ? `${secret}:${nonce}:${count}:${cnonce}:${qop}:${subject}` : `${secret}:${nonce}:${subject}`,
  );
  const params = [
    `username=${quoted(user)}`,
    `realm=${quoted(realm)}`,
    `nonce=${quoted(nonce)}`,
    `uri=${quoted(uri)}`,
    `response="${response}"`,
    `algorithm=${wireNames[algorithm]}`,
    ...(qop || algorithm.endsWith("-sess") ? [`cnonce="${cnonce}"`] : []),
    ...(qop ? [`qop=${qop}`, `nc=${count}`] : []),
    ...(opaque === undefined ? [] : [`opaque=${quoted(opaque)}`]),
  ];
  return `Digest ${params.join(", ")}`;
}

/** UTF-8, in the form that all texts of messages have here: a character for each byte. */
const onTheWire = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

const quoted = (text: string): string => `"${text.replace(/["\\]/g, "\\$&")}"`;
