/** CPU time (not wall time: the machine may be shared) to parse one INVITE and read what a transaction and a dialog need of it. Run: `node --import tsx test/bench/parse.ts`. */
import { parseMessage, type SipMessage } from "../../src/engine/message/sip-message.ts";

const sdp = [
  "v=0",
  "o=user1 53655765 2353687637 IN IP4 127.0.0.1",
  "s=-",
  "c=IN IP4 127.0.0.1",
  "t=0 0",
  "m=audio 6000 RTP/AVP 0 8 101",
  "a=rtpmap:0 PCMU/8000",
  "a=rtpmap:8 PCMA/8000",
  "a=rtpmap:101 telephone-event/8000",
  "",
].join("\r\n");
const bytes = Buffer.from(
  [
    "INVITE sip:+4930123456@127.0.0.1:5060 SIP/2.0",
    "Via: SIP/2.0/UDP 127.0.0.1:5061;rport;branch=z9hG4bK-18322-1-0",
    "Max-Forwards: 70",
    'From: "caller" <sip:+4989654321@127.0.0.1:5061>;tag=18322SIPpTag001',
    "To: <sip:+4930123456@127.0.0.1:5060>",
    "Call-ID: 1-18322@127.0.0.1",
    "CSeq: 1 INVITE",
    "Contact: <sip:caller@127.0.0.1:5061>",
    "Allow: INVITE, ACK, BYE, CANCEL, OPTIONS, PRACK, UPDATE, INFO",
    "Supported: timer, 100rel",
    "User-Agent: bench",
    "Content-Type: application/sdp",
    `Content-Length: ${sdp.length}`,
    "",
    sdp,
  ].join("\r\n"),
  "latin1",
);

const readings: Readonly<Record<string, (message: SipMessage) => number>> = {
  "parse and validate": (message) => message.cseq,
  "and read ids, tags, Via": (message) =>
    message.callId.length + message.fromTag.length + message.toTag.length + message.branch.length + message.cseq,
  "and visit every header": (message) => {
    let length = 0;
    message.eachHeader((name, _wire, value) => {
      length += name.length + value.length;
    });
    return length;
  },
};

const ROUNDS = 300_000;
for (const [name, read] of Object.entries(readings)) {
  let best = Number.POSITIVE_INFINITY;
  let sink = 0;
  for (let run = 0; run < 5; run++) {
    const start = process.cpuUsage();
    for (let round = 0; round < ROUNDS; round++) {
      const message = parseMessage(bytes.toString("latin1"));
      if ("reason" in message) throw new Error(message.reason);
      sink += read(message);
    }
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, user + system);
  }
  console.log(`${name}: ${(best / ROUNDS).toFixed(2)} us per INVITE of ${bytes.length} bytes (${sink})`);
}
