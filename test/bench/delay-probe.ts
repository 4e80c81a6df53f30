import { createSocket } from "node:dgram";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";

/** Post-dial delay of sampled calls, milliseconds from the INVITE to the 180. */
export interface Delays {
  readonly calls: number;
  readonly p50: number;
  readonly p99: number;
}

/** As in uac.xml. */
const talkMs = 50;
/** T1 of RFC 3261: what is not answered by then is sent again. */
const resendMs = 500;
/** How long after its INVITE the last call may take to end. */
const graceMs = 10_000;

interface ProbeCall {
  readonly sentAt: number;
  delay: number | undefined;
  /** Sent again until it is answered. */
  unanswered: string | undefined;
  /** Once the call is answered; sent for each 200. */
  ack: string | undefined;
  ended: boolean;
}

/** Places calls beside SIPp's and times them, as SIPp's own clock is too coarse: it reads whole milliseconds. */
export async function probeDelays(port: number, perSecond: number, seconds: number): Promise<Delays> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  const local = `127.0.0.1:${socket.address().port}`;
  const calls = new Map<string, ProbeCall>();
  let open = true;
  const send = (text: string): void => {
    if (open) socket.send(text, port, "127.0.0.1");
  };
  const request = (call: ProbeCall, text: string): void => {
    call.unanswered = text;
    send(text);
  };

  const answered = (call: ProbeCall, ok: string): void => {
    if (call.ack === undefined) {
      setTimeout(() => request(call, inDialog("BYE", 2, ok, local)), talkMs);
      call.unanswered = undefined;
    }
    call.ack ??= inDialog("ACK", 1, ok, local);
    send(call.ack);
  };

  socket.on("message", (datagram) => {
    const text = datagram.toString("latin1");
    const call = calls.get(header(text, "Call-ID"));
    if (call === undefined) return;
    const status = Number(text.slice(8, 11));
    if (header(text, "CSeq").endsWith("BYE")) {
      call.unanswered = undefined;
      call.ended = true;
    } else if (status === 200) answered(call, text);
    else {
      if (status === 180) call.delay ??= performance.now() - call.sentAt;
      if (call.ack === undefined) call.unanswered = undefined;
    }
  });
  const resend = setInterval(() => {
    for (const { unanswered } of calls.values()) if (unanswered !== undefined) send(unanswered);
  }, resendMs);

  const total = Math.round(perSecond * seconds);
  for (let index = 0; index < total; index++) {
    const callId = `probe-${index}-${process.pid}@${local}`;
    const call: ProbeCall = {
      sentAt: performance.now(),
      delay: undefined,
      unanswered: undefined,
      ack: undefined,
      ended: false,
    };
    calls.set(callId, call);
    request(call, invite(callId, local, port));
    await pause(1_000 / perSecond);
  }
  const all = [...calls.values()];
  for (const end = performance.now() + graceMs; !all.every(({ ended }) => ended) && performance.now() < end; ) {
    await pause(talkMs);
  }
  clearInterval(resend);
  open = false;
  socket.close();
  const delays = all.flatMap(({ delay }) => (delay === undefined ? [] : [delay]));
  return { calls: total, p50: quantile(delays, 0.5), p99: quantile(delays, 0.99) };
}

/** The value below which the given share of all values lies; NaN without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function invite(callId: string, local: string, port: number): string {
  const body = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 6000 RTP/AVP 8\r\n";
  return [
    `INVITE sip:15551000@127.0.0.1:${port} SIP/2.0`,
    `Via: SIP/2.0/UDP ${local};branch=z9hG4bK-${callId}-i`,
    `From: <sip:probe@${local}>;tag=p`,
    `To: <sip:15551000@127.0.0.1:${port}>`,
    `Call-ID: ${callId}`,
    "CSeq: 1 INVITE",
    `Contact: <sip:probe@${local}>`,
    "Max-Forwards: 70",
    "Content-Type: application/sdp",
    `Content-Length: ${body.length}`,
    "",
    body,
  ].join("\r\n");
}

/** ACK or BYE of the dialog that a 200 has opened, along its Record-Route. */
function inDialog(method: string, cseq: number, ok: string, local: string): string {
  const callId = header(ok, "Call-ID");
  const route = /^Record-Route:\s*(.*)\r$/im.exec(ok)?.[1];
  return [
    `${method} ${/<([^>]+)>/.exec(header(ok, "Contact"))?.[1]} SIP/2.0`,
    `Via: SIP/2.0/UDP ${local};branch=z9hG4bK-${callId}-${method}`,
    ...(route === undefined ? [] : [`Route: ${route}`]),
    `From: ${header(ok, "From")}`,
    `To: ${header(ok, "To")}`,
    `Call-ID: ${callId}`,
    `CSeq: ${cseq} ${method}`,
    "Max-Forwards: 70",
    "Content-Length: 0",
    "",
    "",
  ].join("\r\n");
}

function header(text: string, name: string): string {
  return new RegExp(`^${name}:[ \\t]*(.*)\\r$`, "im").exec(text)?.[1] ?? "";
}
