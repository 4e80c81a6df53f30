/**
 * What a call costs over TLS on both legs, against the same call over UDP: CPU of the running program, in turns, so that what
 * else the machine does falls on both alike. Connections are reused, as they are in service: one from the caller, one to the
 * carrier.
 *
 *     npm run bench:tls -- [calls per second] [seconds a turn] [turns]
 */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { connect, createServer } from "node:tls";
import { CertificateAuthority } from "../support/certificate-authority.ts";
import { type Endpoint, freePort } from "../support/loopback.ts";
import { PemDirectory } from "../support/pem-directory.ts";
import { SipStream } from "../support/sip-stream.ts";
import { RawCall, responseTo, SipText } from "../support/sip-text.ts";
import { callsLeft } from "./measure.ts";
import { launchWeir, loopback } from "./systems.ts";

const [rate = 500, seconds = 10, turns = 4] = process.argv.slice(2).map(Number);

/** How often calls are begun, and how long each is up, in milliseconds. */
const tickMs = 10;
const talkMs = 50;

type Protocol = "UDP" | "TLS";

/** A caller's place: where it sends from, and how. */
interface Line {
  readonly local: Endpoint;
  readonly to: Endpoint;
  send(text: string): void;
}

/** Calls of one caller, by Call-ID, from their INVITE to the answer to their BYE. */
class Callers {
  readonly #protocol: Protocol;
  readonly #open = new Map<string, RawCall>();
  line: Line | undefined;

  constructor(protocol: Protocol) {
    this.#protocol = protocol;
  }

  get open(): number {
    return this.#open.size;
  }

  begin(): void {
    const { line } = this;
    if (!line) throw new Error("no line");
    const call = new RawCall(line.local, line.to, this.#protocol === "UDP" ? "100" : "200", this.#protocol);
    this.#open.set(call.callId, call);
    line.send(call.invite());
  }

  receive(message: SipText): void {
    const call = this.#open.get(message.header("Call-ID"));
    if (!call || message.status < 200) return;
    if (message.method === "INVITE") {
      this.line?.send(call.ack(message));
      setTimeout(() => this.line?.send(call.request("BYE", message)), talkMs);
    } else this.#open.delete(call.callId);
  }
}

/** What a carrier says to a request. */
function answers(message: SipText, local: Endpoint, transport: string): string[] {
  if (message.status || message.method === "ACK") return [];
  const statuses = message.method === "INVITE" ? [180, 200] : [200];
  return statuses.map((status) =>
    responseTo(message, status, "OK", local).replace(/^(Contact: <[^>]+)>/m, `$1${transport}>`),
  );
}

async function udpPeers(to: Endpoint, carrier: Endpoint): Promise<Callers> {
  const callers = new Callers("UDP");
  const open = async (port: number, receive: (message: SipText, from: Endpoint) => void) => {
    const socket = createSocket({ type: "udp4", recvBufferSize: 4_194_304 });
    socket.on("message", (bytes, { address, port }) =>
      receive(new SipText(bytes.toString("latin1")), { address, port }),
    );
    socket.bind(port, loopback);
    await once(socket, "listening");
    return socket.unref();
  };
  const caller = await open(0, (message) => callers.receive(message));
  const answering = await open(carrier.port, (message, from) => {
    for (const text of answers(message, carrier, ""))
      answering.send(Buffer.from(text, "latin1"), from.port, from.address);
  });
  const { address, port } = caller.address();
  callers.line = {
    local: { address, port },
    to,
    send: (text) => caller.send(Buffer.from(text, "latin1"), to.port, to.address),
  };
  return callers;
}

async function tlsPeers(to: Endpoint, carrier: Endpoint, authority: CertificateAuthority): Promise<Callers> {
  const callers = new Callers("TLS");
  const { certificate, key } = authority.issue({ names: [loopback] });
  const server = createServer({ cert: certificate, key }, (socket) => {
    new SipStream(socket, (message, connection) => {
      for (const text of answers(message, carrier, ";transport=tls")) connection.send(text);
    });
  });
  server.listen(carrier.port, carrier.address).unref();
  const socket = connect({ host: to.address, port: to.port, ca: authority.certificate });
  await once(socket, "secureConnect");
  const connection = new SipStream(socket, (message) => callers.receive(message));
  const local = { address: loopback, port: socket.localPort ?? 0 };
  callers.line = { local, to, send: (text) => connection.send(text) };
  return callers;
}

/** Calls at the fixed rate for the given time, and the wait until all have ended. How many began. */
async function load(callers: Callers, forMs: number): Promise<number> {
  const start = performance.now();
  let begun = 0;
  while (performance.now() - start < forMs) {
    for (const due = ((performance.now() - start) * rate) / 1_000; begun < due; begun++) callers.begin();
    await pause(tickMs);
  }
  for (let waited = 0; callers.open > 0 && waited < 5_000; waited += tickMs) await pause(tickMs);
  return begun;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const folder = mkdtempSync(join(tmpdir(), "weir-tls-bench-"));
const pems = new PemDirectory();
const authority = new CertificateAuthority();
const files = pems.write("weir", authority.issue({ names: [loopback] }), authority);
const endpoint = async (): Promise<Endpoint> => ({ address: loopback, port: await freePort(loopback) });
const [tlsListen, udpCarrier, tlsCarrier] = [await endpoint(), await endpoint(), await endpoint()];

try {
  const weir = await launchWeir("weir", configuration, folder);
  const peers = {
    UDP: await udpPeers({ address: loopback, port: weir.port }, udpCarrier),
    TLS: await tlsPeers(tlsListen, tlsCarrier, authority),
  };
  const cpu = { UDP: 0, TLS: 0 };
  const begun = { UDP: 0, TLS: 0 };
  for (let turn = 0; turn <= turns; turn++) {
    for (const protocol of ["UDP", "TLS"] as const) {
      const before = weir.cpuMs();
      const calls = await load(peers[protocol], seconds * 1_000);
      // The first turn warms up.
      if (turn === 0) continue;
      cpu[protocol] += weir.cpuMs() - before;
      begun[protocol] += calls;
    }
  }
  const lost = peers.UDP.open + peers.TLS.open;
  const left = await callsLeft(weir);
  await weir.stop();
  const perCall = { UDP: cpu.UDP / begun.UDP, TLS: cpu.TLS / begun.TLS };
  console.log(`${cpus()[0]?.model ?? "unknown processor"}, ${cpus().length} cores, Node ${process.version}`);
  console.log(
    `${rate} calls/s, ${begun.UDP} over UDP, ${begun.TLS} over TLS on both legs: ${lost} not completed, ${left} left`,
  );
  console.log(`CPU-ms per call: UDP ${perCall.UDP.toFixed(3)}, TLS ${perCall.TLS.toFixed(3)}`);
  console.log(`TLS ÷ UDP: ${(perCall.TLS / perCall.UDP).toFixed(2)}`);
  process.exitCode = lost + left > 0 ? 1 : 0;
} finally {
  pems.remove();
  rmSync(folder, { recursive: true });
}
process.exit();

function configuration(listen: string, admin: string): string {
  const limits = "max-sessions: 50000, max-outbound-burst-rate: 50000, max-outbound-sustain-rate: 50000";
  return `signalling:
  listen: ["${listen}", "tls://${loopback}:${tlsListen.port}"]
  tls: { certificate: ${files.certificate}, key: ${files.key}, ca: ${files.ca} }
admin: { listen: "${admin}" }
logging: { level: error }
session-agents:
  - { hostname: udp-carrier, ip-address: ${loopback}, port: ${udpCarrier.port}, ${limits} }
  - { hostname: tls-carrier, ip-address: ${loopback}, port: ${tlsCarrier.port}, transport-method: TLS, ${limits} }
local-policies:
  - { to-address: ["100"], policy-attributes: [{ next-hop: udp-carrier }] }
  - { to-address: ["200"], policy-attributes: [{ next-hop: tls-carrier }] }
`;
}
