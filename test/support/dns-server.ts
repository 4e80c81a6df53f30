import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { once } from "node:events";

/** What a name answers to a type of question: values beside the TTL in seconds. */
export type DnsRecord =
  | { readonly type: "A" | "AAAA" | "CNAME"; readonly value: string; readonly ttl?: number }
  | { readonly type: "SRV"; readonly value: readonly [number, number, number, string]; readonly ttl?: number }
  | {
      readonly type: "NAPTR";
      readonly value: readonly [number, number, string, string, string];
      readonly ttl?: number;
    };

type RecordType = DnsRecord["type"];

const codes: Readonly<Record<RecordType, number>> = { A: 1, CNAME: 5, AAAA: 28, SRV: 33, NAPTR: 35 };

/** A DNS server with a zone that the test changes as it runs. It follows CNAMEs, as a recursive one does. */
export class DnsServer {
  /** By name, in lower case. */
  readonly zone = new Map<string, DnsRecord[]>();
  /** What was asked, in order: `SRV _sip._udp.trunk.example`. */
  readonly asked: string[] = [];
  /** `silent`: no answer. `broken`: SERVFAIL. */
  mood: "well" | "silent" | "broken" = "well";
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("message", (bytes, from) => this.#answer(bytes, from));
  }

  static async start(zone: Readonly<Record<string, readonly DnsRecord[]>> = {}): Promise<DnsServer> {
    const socket = createSocket("udp4");
    const server = new DnsServer(socket);
    socket.bind(0, "127.0.0.1");
    await once(socket, "listening");
    for (const [name, records] of Object.entries(zone)) server.zone.set(name, [...records]);
    return server;
  }

  /** `address:port`, for `dns.servers`. */
  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  count(question: string): number {
    return this.asked.filter((each) => each === question).length;
  }

  close(): void {
    this.#socket.close();
  }

  #answer(query: Buffer, from: RemoteInfo): void {
    const { name, end } = readName(query, 12);
    const code = query.readUInt16BE(end);
    const type = (Object.keys(codes) as RecordType[]).find((each) => codes[each] === code);
    this.asked.push(`${type} ${name}`);
    if (this.mood === "silent") return;
    const answers = this.mood === "broken" ? [] : this.#find(name, type);
    const status = this.mood === "broken" ? 2 : this.zone.has(name) ? 0 : 3;
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8180 | status, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(answers.length, 6);
    this.#socket.send(Buffer.concat([header, query.subarray(12, end + 4), ...answers]), from.port, from.address);
  }

  #find(name: string, type: RecordType | undefined, hops = 0): Buffer[] {
    const records = this.zone.get(name) ?? [];
    const cname = records.find((record) => record.type === "CNAME");
    // A loop of CNAMEs is given as far as a server would follow it.
    if (cname?.type === "CNAME" && hops < 8) return [wire(name, cname), ...this.#find(cname.value, type, hops + 1)];
    return records.filter((record) => record.type === type).map((record) => wire(name, record));
  }
}

function readName(bytes: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let at = start;
  for (let length = bytes.readUInt8(at); length > 0; length = bytes.readUInt8(at)) {
    labels.push(bytes.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), end: at + 1 };
}

function wire(name: string, record: DnsRecord): Buffer {
  const data = dataOf(record);
  const head = Buffer.alloc(10);
  head.writeUInt16BE(codes[record.type], 0);
  head.writeUInt16BE(1, 2);
  head.writeUInt32BE(record.ttl ?? 60, 4);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([nameBytes(name), head, data]);
}

function dataOf(record: DnsRecord): Buffer {
  switch (record.type) {
    case "A":
      return Buffer.from(record.value.split(".").map(Number));
    case "AAAA":
      return Buffer.from(
        record.value
          .split(":")
          .map((part) => part.padStart(4, "0"))
          .join(""),
        "hex",
      );
    case "CNAME":
      return nameBytes(record.value);
    case "SRV": {
      const [priority, weight, port, target] = record.value;
      return Buffer.concat([numbers(priority, weight, port), nameBytes(target)]);
    }
    case "NAPTR": {
      const [order, preference, flags, service, replacement] = record.value;
      return Buffer.concat([numbers(order, preference), text(flags), text(service), text(""), nameBytes(replacement)]);
    }
  }
}

const numbers = (...values: number[]): Buffer => Buffer.from(values.flatMap((value) => [value >> 8, value & 0xff]));

const text = (value: string): Buffer => Buffer.from([value.length, ...Buffer.from(value, "latin1")]);

const nameBytes = (name: string): Buffer =>
  Buffer.concat([
    ...name
      .split(".")
      .filter((label) => label !== "")
      .map(text),
    Buffer.from([0]),
  ]);
