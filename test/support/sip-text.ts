import { randomBytes } from "node:crypto";
import type { Endpoint } from "./loopback.ts";

/** A SIP message read in the plainest way, by nothing of the product's own code. */
export class SipText {
  readonly startLine: string;
  readonly body: string;
  readonly #headers: readonly (readonly [name: string, value: string])[];

  constructor(readonly text: string) {
    const end = text.indexOf("\r\n\r\n");
    const [startLine = "", ...lines] = text.slice(0, end < 0 ? undefined : end).split("\r\n");
    this.startLine = startLine;
    this.body = end < 0 ? "" : text.slice(end + 4);
    this.#headers = lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()] as const;
    });
  }

  /** 0 in a request. */
  get status(): number {
    return Number(/^SIP\/2\.0 (\d{3})/.exec(this.startLine)?.[1] ?? 0);
  }

  /** Of the request line; of the CSeq in a response. */
  get method(): string {
    return (this.status ? this.header("CSeq").split(" ")[1] : this.startLine.split(" ")[0]) ?? "";
  }

  get requestUri(): string {
    return this.startLine.split(" ")[1] ?? "";
  }

  /** The first header line of this name; "" when there is none. */
  header(name: string): string {
    return this.headers(name)[0] ?? "";
  }

  headers(name: string): string[] {
    return this.#headers.filter(([own]) => own.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
  }
}

export const token = (): string => randomBytes(8).toString("hex");

const sdpOf = (address: string): string =>
  `v=0\r\no=raw 1 1 IN IP4 ${address}\r\ns=-\r\nc=IN IP4 ${address}\r\nt=0 0\r\nm=audio 40000 RTP/AVP 8\r\na=rtpmap:8 PCMA/8000\r\n`;

/** Header lines and a body with its length. */
function assemble(startLine: string, headers: readonly string[], body: string): string {
  const end = body ? ["Content-Type: application/sdp", `Content-Length: ${body.length}`] : ["Content-Length: 0"];
  return `${[startLine, ...headers, ...end].join("\r\n")}\r\n\r\n${body}`;
}

/** One INVITE dialog as its caller keeps it. */
export class RawCall {
  readonly branch = `z9hG4bK${token()}`;
  readonly fromTag = token();
  #cseq = 1;

  constructor(
    readonly from: Endpoint,
    readonly to: Endpoint,
    readonly number: string,
    readonly protocol: "UDP" | "TCP" | "TLS" = "UDP",
    readonly callId = `raw-${token()}`,
  ) {}

  invite(options: { maxForwards?: number; requestUri?: string } = {}): string {
    const uri = options.requestUri ?? `sip:${this.number}@${this.to.address}:${this.to.port}`;
    const headers = this.#headers("INVITE", 1, this.branch, "", options.maxForwards);
    const contact = `Contact: <sip:raw@${this.from.address}:${this.from.port};transport=${this.protocol.toLowerCase()}>`;
    return assemble(`INVITE ${uri} SIP/2.0`, [...headers, contact], sdpOf(this.from.address));
  }

  /** CANCEL of the INVITE: its branch, its CSeq number (RFC 3261 section 9.1). */
  cancel(): string {
    const uri = `sip:${this.number}@${this.to.address}:${this.to.port}`;
    return assemble(`CANCEL ${uri} SIP/2.0`, this.#headers("CANCEL", 1, this.branch, ""), "");
  }

  /** ACK of this final response: within the INVITE's transaction for a failure, of its own for a 2xx (RFC 3261 17.1.1.3, 13.2.2.4). */
  ack(final: SipText): string {
    const branch = final.status < 300 ? `z9hG4bK${token()}` : this.branch;
    const uri = final.status < 300 ? contactOf(final) : `sip:${this.number}@${this.to.address}:${this.to.port}`;
    return assemble(`ACK ${uri} SIP/2.0`, this.#headers("ACK", 1, branch, tagOf(final)), "");
  }

  /** Another request than INVITE that begins, or stands alone. */
  first(method: string, headers: readonly string[]): string {
    const uri = `sip:${this.number}@${this.to.address}:${this.to.port}`;
    const contact = `Contact: <sip:raw@${this.from.address}:${this.from.port}>`;
    return assemble(
      `${method} ${uri} SIP/2.0`,
      [...this.#headers(method, 1, this.branch, ""), contact, ...headers],
      "",
    );
  }

  /** A request within the dialog that this 2xx made. */
  request(method: string, answer: SipText, more: readonly string[] = []): string {
    this.#cseq += 1;
    const headers = this.#headers(method, this.#cseq, `z9hG4bK${token()}`, tagOf(answer));
    return assemble(`${method} ${contactOf(answer)} SIP/2.0`, [...headers, ...more], "");
  }

  #headers(method: string, cseq: number, branch: string, toTag: string, maxForwards = 70): string[] {
    const { from, to } = this;
    return [
      `Via: SIP/2.0/${this.protocol} ${from.address}:${from.port};branch=${branch};rport`,
      `Max-Forwards: ${maxForwards}`,
      `From: <sip:raw@${from.address}:${from.port}>;tag=${this.fromTag}`,
      `To: <sip:${this.number}@${to.address}:${to.port}>${toTag && `;tag=${toTag}`}`,
      `Call-ID: ${this.callId}`,
      `CSeq: ${cseq} ${method}`,
    ];
  }
}

const tagOf = (message: SipText): string => /;\s*tag=([^;\s]+)/i.exec(message.header("To"))?.[1] ?? "";
const contactOf = (message: SipText): string => /<([^>]+)>/.exec(message.header("Contact"))?.[1] ?? "";

/** The response of an agent at `local`: with a tag and a Contact, and an SDP answer in a 2xx to INVITE. */
export function responseTo(request: SipText, status: number, reason: string, local: Endpoint): string {
  const to = request.header("To");
  const headers = [
    ...request.headers("Via").map((via) => `Via: ${via}`),
    ...request.headers("Record-Route").map((route) => `Record-Route: ${route}`),
    `From: ${request.header("From")}`,
    `To: ${/;\s*tag=/i.test(to) || status === 100 ? to : tagged(request)}`,
    `Call-ID: ${request.header("Call-ID")}`,
    `CSeq: ${request.header("CSeq")}`,
    `Contact: <sip:agent@${local.address}:${local.port}>`,
  ];
  const answers = request.method === "INVITE" && status >= 200 && status < 300;
  return assemble(`SIP/2.0 ${status} ${reason}`, headers, answers ? sdpOf(local.address) : "");
}

/** To with the tag that agents give it. */
const tagged = (request: SipText): string =>
  `${request.header("To")};tag=agent-${request.header("Call-ID").slice(0, 8)}`;

/** BYE of the agent at `local`, in the dialog of the ACK that it had from `peer`; its first request there. */
export const byeAfter = (ack: SipText, local: Endpoint, peer: Endpoint): string =>
  calleesRequest("BYE", ack, { local, peer, from: ack.header("To"), cseq: 1 });

/** NOTIFY of the agent at `local`, in the dialog of a SUBSCRIBE or REFER that it had from `peer`. `state`: of the subscription. */
export const notifyAfter = (
  subscribe: SipText,
  state: string,
  { local, peer, cseq }: { local: Endpoint; peer: Endpoint; cseq: number },
): string =>
  calleesRequest("NOTIFY", subscribe, { local, peer, cseq, from: tagged(subscribe) }, [
    `Event: ${subscribe.header("Event") || "refer"}`,
    `Contact: <sip:agent@${local.address}:${local.port}>`,
    `Subscription-State: ${state}`,
  ]);

function calleesRequest(
  method: string,
  received: SipText,
  { local, peer, from, cseq }: { local: Endpoint; peer: Endpoint; from: string; cseq: number },
  more: readonly string[] = [],
): string {
  const headers = [
    `Via: SIP/2.0/UDP ${local.address}:${local.port};branch=z9hG4bK${token()};rport`,
    "Max-Forwards: 70",
    `From: ${from}`,
    `To: ${received.header("From")}`,
    `Call-ID: ${received.header("Call-ID")}`,
    `CSeq: ${cseq} ${method}`,
    ...more,
  ];
  return assemble(`${method} sip:weir@${peer.address}:${peer.port} SIP/2.0`, headers, "");
}
