/**
 * What registrations cost: 100,000 of them held, then refreshed at 1,000 a second. Real sockets and the built program; phone
 * and registrar run here. `npx tsx test/bench/register.ts [registrations] [refreshes a second] [seconds]`.
 */
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "../support/loopback.ts";
import { endChild, launch } from "./child.ts";
import { cpuMs, residentMb } from "./proc.ts";

const [registrations = 100_000, rate = 1_000, seconds = 20] = process.argv.slice(2).map(Number);
const weir = { address: "127.0.0.2", port: await freePort("127.0.0.2") };
const registrar = { address: "127.0.0.11", port: await freePort("127.0.0.11") };
const admin = `127.0.0.2:${await freePort("127.0.0.2")}`;

async function open(address: string, port = 0): Promise<Socket> {
  const socket = createSocket({ type: "udp4", recvBufferSize: 4_194_304 });
  socket.bind(port, address);
  await once(socket, "listening");
  return socket;
}

const registrarSocket = await open(registrar.address, registrar.port);
registrarSocket.on("message", (bytes, { port, address }) => {
  const [, ...lines] = bytes.toString("latin1").split("\r\n");
  const kept = lines.filter((line) => /^(?:Via|From|To|Call-ID|CSeq|Contact):/.test(line));
  const answer = kept.map((line) => (line.startsWith("To:") ? `${line};tag=r` : line)).join("\r\n");
  registrarSocket.send(
    Buffer.from(`SIP/2.0 200 OK\r\n${answer};expires=3600\r\nContent-Length: 0\r\n\r\n`, "latin1"),
    port,
    address,
  );
});

const folder = mkdtempSync(join(tmpdir(), "weir-bench-"));
const config = {
  signalling: { listen: [`udp://${weir.address}:${weir.port}`] },
  "session-agents": [{ hostname: "registrar", "ip-address": registrar.address, port: registrar.port }],
  "local-policies": [
    {
      "from-address": ["*"],
      "to-address": ["*"],
      "source-realm": ["*"],
      "policy-attributes": [{ "next-hop": "registrar", cost: 0 }],
    },
  ],
  admin: { listen: admin },
  logging: { level: "warn" },
};
writeFileSync(join(folder, "weir.yaml"), JSON.stringify(config));
const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const program = launch(
  process.execPath,
  [
    ...["--expose-gc", "--import", file("heap-probe.mjs")],
    ...[file("../../dist/cli/weir.js"), "start", "--config", join(folder, "weir.yaml")],
  ],
  { stdio: ["ignore", "inherit", "inherit", "ipc"] },
);

/**
 * Megabytes of resident memory as the program runs, which depends on when it last collected; and of what is needed: heap
 * after a full collection, and resident once the system has been given back the rest.
 */
async function memory(): Promise<string> {
  const running = residentMb(pid);
  const collected = once(program, "message");
  program.send("collect");
  const [heap] = (await collected) as [number];
  await pause(3_000);
  const [before, live, after] = [running, heap / 1_048_576, residentMb(pid)].map((mb) => mb.toFixed(0));
  return `${before} MB resident; collected ${live} MB of heap, ${after} MB resident`;
}

const { pid = 0 } = program;
for (let ready = false; !ready; await pause(50)) {
  ready = await fetch(`http://${admin}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
}

let answered = 0;
let refused = 0;
const phones = await open("127.0.0.31");
phones.on("message", (bytes) => {
  if (bytes.subarray(8, 11).toString() === "200") answered++;
  else refused++;
});
const { port: own } = phones.address();
let sent = 0;

function register(phone: number): void {
  sent++;
  const aor = `<sip:user${phone}@${weir.address}:${weir.port}>`;
  const lines = [
    `REGISTER sip:${weir.address}:${weir.port} SIP/2.0`,
    `Via: SIP/2.0/UDP 127.0.0.31:${own};branch=z9hG4bK${sent};rport`,
    "Max-Forwards: 70",
    `From: ${aor};tag=${phone}`,
    `To: ${aor}`,
    `Call-ID: phone-${phone}@127.0.0.31`,
    `CSeq: ${sent} REGISTER`,
    `Contact: <sip:user${phone}@127.0.0.31:${own};transport=udp>`,
    "Expires: 3600",
    "Content-Length: 0",
  ];
  phones.send(Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), weir.port, weir.address);
}

/** Sends so many a second, evenly, for so many in all. */
async function run(total: number, perSecond: number, phoneOf: (at: number) => number): Promise<void> {
  const begin = performance.now();
  for (let at = 0; at < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - begin) * perSecond) / 1_000));
    for (; at < due; at++) register(phoneOf(at));
    await pause(5);
  }
  for (let waited = 0; answered + refused < sent && waited < 5_000; waited += 50) await pause(50);
}

const empty = await memory();
await run(registrations, 1_000, (at) => at);
// What transactions of the last seconds hold is no registration.
await pause(40_000);
const held = await memory();
const answeredFirst = answered;

const before = cpuMs(pid);
await run(rate * seconds, rate, (at) => (at * 7_919) % registrations);
const cpu = (cpuMs(pid) - before) / (rate * seconds);

console.log(`registrations ${registrations}: ${answeredFirst} answered, ${refused} refused of ${sent} in all`);
console.log(`memory empty: ${empty}`);
console.log(`memory with them: ${held}`);
console.log(`load of the machine over 5 minutes: ${loadavg()[1]?.toFixed(1)} on ${cpus().length} cores`);
console.log(
  `refresh: ${cpu.toFixed(3)} CPU-ms each at ${rate}/s (${answered - answeredFirst} of ${rate * seconds} answered)`,
);
phones.close();
registrarSocket.close();
await endChild(program);
