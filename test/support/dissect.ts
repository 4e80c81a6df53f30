import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const tsharkInstalled = spawnSync("tshark", ["-v"]).status === 0;

/** What Wireshark's dissector finds wrong in SIP messages (warnings and errors), one line each; it has read them all. */
export async function dissect(messages: readonly string[]): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), "weir-dissect-"));
  try {
    const file = join(directory, "messages.pcap");
    await writeFile(file, Buffer.concat([pcapHeader(), ...messages.map(packet)]));
    const read = (...more: string[]) => {
      const { status, stdout, stderr } = spawnSync("tshark", ["-n", "-r", file, "-d", "udp.port==5060,sip", ...more]);
      if (status !== 0) throw new Error(`tshark: ${stderr}`);
      return stdout.toString().split("\n").filter(Boolean);
    };
    const seen = read("-Y", "sip");
    if (seen.length !== messages.length) throw new Error(`only ${seen.length} of ${messages.length} messages are SIP`);
    // 0x600000: warnings and above.
    const wrong = "_ws.malformed || (sip && _ws.expert.severity >= 0x600000)";
    return read("-Y", wrong, "-T", "fields", "-e", "frame.number", "-e", "_ws.expert.message", "-e", "_ws.col.info");
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Classic pcap, link type 101: packets begin with their IP header. */
function pcapHeader(): Buffer {
  const header = Buffer.alloc(24);
  header.writeUInt32LE(0xa1b2c3d4, 0);
  header.writeUInt16LE(2, 4);
  header.writeUInt16LE(4, 6);
  header.writeUInt32LE(65_535, 16);
  header.writeUInt32LE(101, 20);
  return header;
}

/** The message as a UDP datagram of 127.0.0.1:5060 to itself, without checksums. */
function packet(message: string): Buffer {
  const payload = Buffer.from(message, "latin1");
  const record = Buffer.alloc(16 + 20 + 8);
  record.writeUInt32LE(28 + payload.length, 8);
  record.writeUInt32LE(28 + payload.length, 12);
  record.writeUInt8(0x45, 16);
  record.writeUInt16BE(28 + payload.length, 18);
  record.writeUInt8(64, 24);
  record.writeUInt8(17, 25);
  record.writeUInt32BE(0x7f000001, 28);
  record.writeUInt32BE(0x7f000001, 32);
  record.writeUInt16BE(5060, 36);
  record.writeUInt16BE(5060, 38);
  record.writeUInt16BE(8 + payload.length, 40);
  return Buffer.concat([record, payload]);
}
