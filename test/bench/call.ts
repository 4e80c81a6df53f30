/**
 * CPU time and allocation of one whole call through everything but the sockets: engine, drachtio-srf, calls, routing and
 * agents, with the two sides of bench/uac.xml and uas.xml as functions. It shows what a change of the program costs without
 * the noise of a network; what a call costs on a real one, cold caches and system calls included, `npm run bench` tells.
 *
 *     node --import tsx test/bench/call.ts [CALLS]
 */
import { PerformanceObserver } from "node:perf_hooks";
import { pino } from "pino";
import { AgentEvents } from "../../src/agents/agent-events.ts";
import { AgentManager } from "../../src/agents/agent-manager.ts";
import { CallManager } from "../../src/calls/call-manager.ts";
import { systemClock } from "../../src/clock.ts";
import { loadConfig } from "../../src/config/load.ts";
import { Core } from "../../src/engine/core/core.ts";
import { createVirtualLink } from "../../src/engine/link/virtual-link.ts";
import { MalformedMessage, parseMessage, type SipMessage } from "../../src/engine/message/sip-message.ts";
import { defaultTimers } from "../../src/engine/transaction/timers.ts";
import type { Flow } from "../../src/engine/transport/transport.ts";
import { Router } from "../../src/routing/router.ts";
import { DrachtioSignalling } from "../../src/signalling/drachtio-signalling.ts";
import { EmbeddedLink } from "../../src/signalling/embedded-link.ts";

process.env = { ...process.env };

const loaded = loadConfig(
  `
session-agents:
  - { hostname: caller, ip-address: 127.0.0.1, port: 5061, max-sessions: 50000, max-inbound-sustain-rate: 50000 }
  - { hostname: carrier, ip-address: 127.0.0.1, port: 5062, max-sessions: 50000, max-outbound-sustain-rate: 50000 }
session-agent-groups: [{ group-name: carriers, strategy: round-robin, dest: [carrier] }]
local-policies:
  - { from-address: ["*"], to-address: ["*"], source-realm: ["*"], policy-attributes: [{ next-hop: "SAG:carriers", cost: 0 }] }
`,
  "bench",
  {},
);
if (!("config" in loaded)) throw new Error(JSON.stringify(loaded));
const { config } = loaded;

/** Calls under way at a time: what is on its way to and from the far ends at 1,000 calls/s with 100 ms of ringing and talk. */
const CONCURRENT = 100;

/** What the program has sent to one far end and that has not read it yet. */
class FarEnd {
  readonly flow: Flow;
  inbox: string[] = [];

  constructor(remotePort: number) {
    this.flow = {
      protocol: "udp",
      reliable: false,
      localAddress: "127.0.0.1",
      localPort: 5060,
      remoteAddress: "127.0.0.1",
      remotePort,
      send: (text) => this.inbox.push(text),
      onFailure: () => () => {},
    };
  }
}

const caller = new FarEnd(5061);
const carrier = new FarEnd(5062);
let stages: (() => void)[] = [];

const core = new Core({
  clock: systemClock,
  timers: defaultTimers,
  log: { warn: (detail, message) => console.error(message, detail), debug: () => {} },
  transports: {
    listening: [],
    flowTo: () => carrier.flow,
    pathBack: () => undefined,
    isLocal: () => false,
    responseFlow: (_request, flow) => flow,
    liveFlow: (flow) => flow,
  },
  names: { find: (_question, then) => then({ failure: "no names here" }) },
});
const server = createVirtualLink(
  { attach: (link) => core.attach(link), appStage: (stage) => stages.push(stage) },
  { packed: true },
);
const engine = { counters: {}, start: () => Promise.resolve(), stop: () => Promise.resolve(), knowAgents() {} };
const signalling = new DrachtioSignalling(new EmbeddedLink(engine, server), console);
const agents = new AgentManager(config["session-agents"], {
  clock: systemClock,
  random: Math.random,
  events: new AgentEvents(),
});
const routing = {
  groups: config["session-agent-groups"],
  policies: config["local-policies"],
  failover: config.failover,
};
const calls = new CallManager(config, {
  signalling,
  agents,
  router: new Router(routing, agents),
  clock: systemClock,
  random: Math.random,
  log: pino({ enabled: false }),
});

function runStages(): void {
  while (stages.length > 0) {
    const now = stages;
    stages = [];
    for (const stage of now) stage();
  }
}

const body = (port: number) =>
  "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n" +
  `m=audio ${port} RTP/AVP 8 0\r\na=rtpmap:8 PCMA/8000\r\na=rtpmap:0 PCMU/8000\r\na=ptime:20\r\n`;
const offer = body(6000);
const answer = body(7000);

const invite = (id: string) =>
  "INVITE sip:1555@127.0.0.1:5060 SIP/2.0\r\n" +
  `Via: SIP/2.0/UDP 127.0.0.1:5061;branch=z9hG4bK-${id}-i\r\n` +
  `From: <sip:bench@127.0.0.1:5061>;tag=${id}\r\nTo: <sip:1555@127.0.0.1:5060>\r\n` +
  `Call-ID: ${id}@127.0.0.1\r\nCSeq: 1 INVITE\r\nContact: <sip:bench@127.0.0.1:5061>\r\nMax-Forwards: 70\r\n` +
  "Allow: INVITE, ACK, CANCEL, BYE, OPTIONS\r\nContent-Type: application/sdp\r\n" +
  `Content-Length: ${offer.length}\r\n\r\n${offer}`;

/** A request of the caller within the dialog that `response` has confirmed. */
const within = (response: SipMessage, method: string, cseq: number) =>
  `${method} ${response.header("contact")?.slice(1, -1)} SIP/2.0\r\n` +
  `Via: SIP/2.0/UDP 127.0.0.1:5061;branch=z9hG4bK-${response.fromTag}-${method}\r\n` +
  `From: ${response.header("from")}\r\nTo: ${response.header("to")}\r\nCall-ID: ${response.callId}\r\n` +
  `CSeq: ${cseq} ${method}\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n`;

const respond = (request: SipMessage, line: string, rest: string) =>
  `SIP/2.0 ${line}\r\nVia: ${request.topVia.text}\r\nFrom: ${request.header("from")}\r\n` +
  `To: ${request.header("to")}${request.toTag === "" ? `;tag=s${request.fromTag}` : ""}\r\nCall-ID: ${request.callId}\r\n` +
  `CSeq: ${request.header("cseq")}\r\n${rest}`;
const contact = "Contact: <sip:127.0.0.1:5062;transport=UDP>\r\n";
const empty = "Content-Length: 0\r\n\r\n";
const session =
  `${contact}Allow: INVITE, ACK, CANCEL, BYE, OPTIONS\r\nContent-Type: application/sdp\r\n` +
  `Content-Length: ${answer.length}\r\n\r\n${answer}`;

/** CPU time of the program alone, in microseconds; the far ends' own is left out. */
let spent = 0;

function give(texts: readonly string[], end: FarEnd): void {
  // As datagrams come: flat, and nobody else's memory.
  const datagrams = texts.map((text) => Buffer.from(text, "latin1"));
  const start = process.cpuUsage();
  for (const datagram of datagrams) {
    const message = parseMessage(datagram.toString("latin1"));
    if (message instanceof MalformedMessage) throw new Error(message.reason);
    core.receive(message, end.flow);
    runStages();
  }
  const { user, system } = process.cpuUsage(start);
  spent += user + system;
}

/** What a far end has been sent since the last time. */
function taken(end: FarEnd): SipMessage[] {
  const texts = end.inbox;
  end.inbox = [];
  return texts.map((text) => {
    const message = parseMessage(Buffer.from(text, "latin1").toString("latin1"));
    if (message instanceof MalformedMessage) throw new Error(message.reason);
    return message;
  });
}

let lastId = 0;

/** So many calls at once, each step of all of them before the next, as their pauses would have it. */
function together(count: number): void {
  give(
    Array.from({ length: count }, () => invite((++lastId).toString(36))),
    caller,
  );
  const invites = taken(carrier);
  give(
    invites.map((request) => respond(request, "180 Ringing", contact + empty)),
    carrier,
  );
  give(
    invites.map((request) => respond(request, "200 OK", session)),
    carrier,
  );
  const answers = taken(caller).filter(({ status }) => status === 200);
  give(
    answers.map((response) => within(response, "ACK", 1)),
    caller,
  );
  give(
    answers.map((response) => within(response, "BYE", 2)),
    caller,
  );
  const byes = taken(carrier).filter(({ method }) => method === "BYE");
  give(
    byes.map((request) => respond(request, "200 OK", empty)),
    carrier,
  );
  if (byes.length !== count || calls.active !== 0) throw new Error(`${byes.length} of ${count} calls came through`);
  caller.inbox = [];
}

const perRun = Number(process.argv[2] ?? 5_000);
let collecting = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) collecting += duration;
}).observe({ entryTypes: ["gc"] });

const linking = setInterval(runStages, 1);
await signalling.start(calls);
clearInterval(linking);
for (let run = 0; run < 6; run++) {
  spent = 0;
  collecting = 0;
  for (let done = 0; done < perRun; done += CONCURRENT) {
    together(CONCURRENT);
    // Between the turns of a real network timers run, and so do the library's own deferred jobs.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const us = (spent / perRun).toFixed(0);
  console.log(`${us} us of CPU per call, ${((collecting * 1_000) / perRun).toFixed(0)} us of it or more for garbage`);
}
process.exit();
