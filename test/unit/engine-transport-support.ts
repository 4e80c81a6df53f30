import dgram from "node:dgram";
import { once } from "node:events";
import { afterEach } from "vitest";
import type { Clock } from "../../src/clock.ts";
import { systemClock } from "../../src/clock.ts";
import type { MalformedMessage, SipMessage } from "../../src/engine/message/sip-message.ts";
import type { TransportLimits } from "../../src/engine/transport/limits.ts";
import {
  type Flow,
  type Target,
  type TlsSettings,
  type TransportHandlers,
  Transports,
} from "../../src/engine/transport/transport.ts";

export const udp: Target = { protocol: "udp", address: "127.0.0.1", port: 0 };
export const tcp: Target = { protocol: "tcp", address: "127.0.0.1", port: 0 };
export const tls: Target = { protocol: "tls", address: "127.0.0.1", port: 0 };

/** An OPTIONS that is told from others by its Call-ID. */
export function options(
  callId: string,
  { via = "SIP/2.0/UDP 127.0.0.1:5099;branch=z9hG4bKx", body = "" } = {},
): string {
  return [
    "OPTIONS sip:a@127.0.0.1 SIP/2.0",
    `Via: ${via}`,
    "From: <sip:b@127.0.0.1>;tag=1",
    "To: <sip:a@127.0.0.1>",
    `Call-ID: ${callId}`,
    "CSeq: 1 OPTIONS",
    `Content-Length: ${body.length}`,
    "",
    body,
  ].join("\r\n");
}

/** What arrived, and transports that answer nothing. */
export interface Station {
  readonly transports: Transports;
  readonly arrived: { readonly message: SipMessage; readonly flow: Flow; readonly bytes: number }[];
  readonly malformed: { readonly message: MalformedMessage; readonly flow: Flow }[];
  readonly defects: unknown[];
  /** Where the n-th listener is. */
  at(index: number): Target;
}

const stations: Transports[] = [];
const closers: (() => void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) close();
  await Promise.all(stations.splice(0).map((transports) => transports.stop()));
});

/** Closes something when the test is over. */
export function atEnd(close: () => void): void {
  closers.push(close);
}

/** Started transports that stop when the test is over; `handle` may send in the turn of an arrival. */
export async function station(
  listen: readonly Target[],
  options: {
    clock?: Clock;
    limits?: Partial<TransportLimits>;
    handle?: TransportHandlers["message"];
    refuse?: TransportHandlers["malformed"];
    tls?: TlsSettings;
    warn?: (detail: object, message: string) => void;
  } = {},
): Promise<Station> {
  const arrived: Station["arrived"] = [];
  const malformed: Station["malformed"] = [];
  const defects: unknown[] = [];
  const transports = new Transports(
    listen,
    {
      message: (message, flow, bytes) => {
        arrived.push({ message, flow, bytes });
        options.handle?.(message, flow, bytes);
      },
      malformed: (message, flow) => {
        malformed.push({ message, flow });
        options.refuse?.(message, flow);
      },
      defect: (error) => defects.push(error),
    },
    {
      clock: options.clock ?? systemClock,
      ...(options.limits && { limits: options.limits }),
      ...(options.tls && { tls: options.tls }),
      ...(options.warn && { warn: options.warn }),
    },
  );
  await transports.start();
  stations.push(transports);
  const at = (index: number) => {
    const target = transports.listening[index];
    if (target === undefined) throw new Error(`there is no listener ${index}`);
    return target;
  };
  return { transports, arrived, malformed, defects, at };
}

/** The flow, which a test knows to be possible. */
export function flowTo(transports: Transports, target: Target, watch?: "always" | "if-room"): Flow {
  const flow = transports.flowTo(target, { watch });
  if (flow === undefined) throw new Error("no flow");
  return flow;
}

export interface Peer {
  readonly socket: dgram.Socket;
  readonly port: number;
  readonly received: string[];
}

/** A plain UDP socket on a loopback address, on any free port if none is given. */
export async function peer(address = "127.0.0.1", port = 0): Promise<Peer> {
  const socket = dgram.createSocket(address.includes(":") ? "udp6" : "udp4");
  const received: string[] = [];
  socket.on("message", (bytes) => received.push(bytes.toString("latin1")));
  socket.bind(port, address);
  await once(socket, "listening");
  atEnd(() => socket.close());
  return { socket, port: socket.address().port, received };
}

/** A UDP port of 127.0.0.1 that nobody listens on. */
export async function deadPort(): Promise<number> {
  const socket = dgram.createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  socket.close();
  await once(socket, "close");
  return port;
}
