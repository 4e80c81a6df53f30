import { createHash } from "node:crypto";
import type { Endpoint } from "./loopback.ts";
import { RawUa } from "./raw-ua.ts";
import { responseTo, type SipText, token } from "./sip-text.ts";

export interface Challenging {
  readonly user: string;
  readonly password: string;
  readonly realm: string;
  readonly algorithm: "MD5" | "SHA-256";
  /** false: a server of RFC 2069. */
  readonly qop: boolean;
  readonly status: 401 | 407;
}

/** An agent that takes a request only with good credentials, as it reckons them by itself. Each nonce counts from 1. */
export class Challenger {
  /** Every request that came in but ACK, with what it was answered. */
  readonly heard: { readonly request: SipText; readonly status: number; readonly nc: string }[] = [];
  /** Methods that it takes without. */
  readonly free = new Set<string>();
  /** Header lines of the answer to a REGISTER that is good. */
  registered: (register: SipText) => { status: number; headers: readonly string[] } = (register) => ({
    status: 200,
    headers: [`Contact: ${register.header("Contact")};expires=${register.header("Expires")}`],
  });
  readonly local: Endpoint;
  readonly #how: Challenging;
  #nonce = token();
  /** The last count that was used with the nonce. */
  #count = 0;
  #old = new Set<string>();
  #ua: RawUa | undefined;

  private constructor(local: Endpoint, how: Challenging) {
    this.local = local;
    this.#how = how;
  }

  static async at(local: Endpoint, how: Challenging): Promise<Challenger> {
    const challenger = new Challenger(local, how);
    challenger.#ua = await RawUa.open(local, ({ message, from }, ua) => {
      if (!message.status && message.method !== "ACK") ua.send(challenger.#answer(message), from);
    });
    return challenger;
  }

  /** What was asked under that method, and answered: `INVITE 401`. */
  get story(): string[] {
    return this.heard.map(({ request, status }) => `${request.method} ${status}`);
  }

  /** The nonce in use is too old from now on. */
  age(): void {
    this.#old.add(this.#nonce);
    this.#nonce = token();
    this.#count = 0;
  }

  send(text: string, to: Endpoint): void {
    this.#ua?.send(text, to);
  }

  receive(wanted: string, match: (message: SipText) => boolean): Promise<SipText> {
    if (!this.#ua) throw new Error("the challenger is closed");
    return this.#ua.receive(wanted, match);
  }

  close(): void {
    this.#ua?.close();
    this.#ua = undefined;
  }

  #answer(request: SipText): string {
    const { status, headers } = this.#judge(request);
    const response = responseTo(request, status, "As Told", this.local);
    const kept = request.method === "REGISTER" ? response.replace(/^Contact:[^\r\n]*\r\n/m, "") : response;
    return kept.replace("Content-Length", [...headers, "Content-Length"].join("\r\n"));
  }

  #judge(request: SipText): { status: number; headers: readonly string[] } {
    const { realm, algorithm, qop, status } = this.#how;
    const params = paramsOf(request.header(status === 401 ? "Authorization" : "Proxy-Authorization"));
    const nc = params.get("nc") ?? "";
    const known = this.free.has(request.method) || this.#isGood(request, params);
    const verdict = !known
      ? { status, headers: [] as string[] }
      : request.method === "REGISTER"
        ? this.registered(request)
        : { status: 200, headers: [] };
    this.heard.push({ request, status: verdict.status, nc });
    if (known) return verdict;
    const stale = this.#old.has(params.get("nonce") ?? "") ? ", stale=true" : "";
    const name = status === 401 ? "WWW-Authenticate" : "Proxy-Authenticate";
    const more = qop ? ', qop="auth,auth-int"' : "";
    return {
      status,
      headers: [
        `${name}: Digest realm="${realm}", nonce="${this.#nonce}"${stale}, algorithm=${algorithm}${more}, opaque="o"`,
      ],
    };
  }

  #isGood(request: SipText, params: ReadonlyMap<string, string>): boolean {
    const { user, password, realm, algorithm, qop } = this.#how;
    const hash = (text: string) =>
      createHash(algorithm === "MD5" ? "md5" : "sha256")
        .update(text)
        .digest("hex");
    const secret = hash(`${user}:${realm}:${password}`);
    const subject = hash(`${request.method}:${request.requestUri}`);
    const count = Number.parseInt(params.get("nc") ?? "", 16);
    const middle = qop ? `${params.get("nc")}:${params.get("cnonce")}:auth:` : "";
    const expected = hash(`${secret}:${this.#nonce}:${middle}${subject}`);
    const fits =
      params.get("nonce") === this.#nonce &&
      params.get("opaque") === "o" &&
      params.get("uri") === request.requestUri &&
      params.get("response") === expected &&
      (!qop || count > this.#count);
    if (fits && qop) this.#count = count;
    return fits;
  }
}

function paramsOf(value: string): Map<string, string> {
  return new Map([...value.matchAll(/(\w+)=(?:"([^"]*)"|([^\s,]+))/g)].map((m) => [m[1] ?? "", m[2] ?? m[3] ?? ""]));
}
