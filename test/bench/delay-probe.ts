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

/** How long after the last INVITE an answer is waited for, and then how long a hang-up may take. */
const graceMs = 2_000;

interface ProbeCall {
  readonly sentAt: number;
  delay: number | undefined;
  answered: boolean;
}

/**
 * Places calls beside SIPp's and times them, as SIPp's own clock is too coarse: it reads whole milliseconds.
 * Without retransmission: a lost datagram costs one sample, and shows in SIPp's own count.
 */
export async function probeDelays(port: number, perSecond: number, seconds: number): Promise<Delays> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  const local = `127.0.0.1:${socket.address().port}`;
  const calls = new Map<string, ProbeCall>();
  const send = (text: string): void => socket.send(text, port, "127.0.0.1");

  socket.on("message", (datagram) => {
    const text = datagram.toString("latin1");
    const callId = header(text, "Call-ID");
    const call = calls.get(callId);
    if (call === undefined || !header(text, "CSeq").endsWith("INVITE")) return;
    if (text.startsWith("SIP/2.0 180")) call.delay ??= performance.now() - call.sentAt;
    if (text.startsWith("SIP/2.0 200") && !call.answered) {
      call.answered = true;
      send(inDialog("ACK", 1, text, local));
      setTimeout(() => send(inDialog("BYE", 2, text, local)), talkMs);
    }
  });

  const total = Math.round(perSecond * seconds);
  for (let index = 0; index < total; index++) {
    const callId = `probe-${index}-${process.pid}@${local}`;
    calls.set(callId, { sentAt: performance.now(), delay: undefined, answered: false });
    send(invite(callId, local, port));
    await pause(1_000 / perSecond);
  }
  const calling = (): boolean => [...calls.values()].some(({ answered }) => !answered);
  for (const end = performance.now() + graceMs; calling() && performance.now() < end; ) await pause(talkMs);
  socket.removeAllListeners("message");
  await pause(2 * talkMs);
  socket.close();
  const delays = [...calls.values()].flatMap(({ delay }) => (delay === undefined ? [] : [delay]));
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
