import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { onDrachtio } from "../support/external-engine.ts";
import { Holder } from "../support/held-call.ts";
import { answeringAgent, RawUa } from "../support/raw-ua.ts";
import { RawCall } from "../support/sip-text.ts";
import { Weir } from "../support/weir.ts";

const corpus = new URL("../torture/corpus/", import.meta.url);
/** So many fit into the kernel's buffer of a socket that is not read for a moment. */
const BATCH = 25;

describe("a malformed datagram", () => {
  let weir: Weir;
  let agent: RawUa;
  let sender: RawUa;

  beforeAll(async () => {
    weir = await Weir.start({ agents: { carrier: { "max-outbound-sessions": 5 } }, routes: { "100": ["carrier"] } });
    agent = await answeringAgent(weir.agent("carrier"));
  });
  beforeEach(async () => {
    sender?.close();
    sender = await RawUa.open(await weir.caller());
  });
  afterAll(async () => {
    sender?.close();
    agent?.close();
    await weir?.stop();
  });

  const good = () => new RawCall(sender.local, weir.listen, "100");

  /** Everything that is counted of agents, and their states; not the rates, which time moves too. */
  const counted = async () => {
    const { text } = await weir.get("/metrics");
    const lines = text.split("\n").filter((line) => /^weir_agent_(?!session_rate|answer_seizure)/.test(line));
    expect(lines.length).toBeGreaterThan(10);
    return lines;
  };

  /** Datagrams of one sender are handled in their order: when this good one is answered, those before it were handled. */
  async function handled(): Promise<void> {
    const call = good();
    sender.send(call.invite({ maxForwards: 0 }), weir.listen);
    const final = await sender.final(call.callId);
    expect(final.status).toBe(483);
    sender.send(call.ack(final), weir.listen);
  }

  /** Sends them all, and shows that nothing came of it: nothing reached the agent, nothing counts, a good call works. */
  async function harmless(datagrams: readonly (string | Buffer)[]): Promise<void> {
    const before = await counted();
    const reached = agent.received.length;
    for (let begin = 0; begin < datagrams.length; begin += BATCH) {
      for (const datagram of datagrams.slice(begin, begin + BATCH)) sender.send(datagram, weir.listen);
      await handled();
    }
    expect(await counted()).toEqual(before);
    await weir.idle();
    expect(agent.received.slice(reached).map(({ message }) => message.startLine)).toEqual([]);

    const caller = await Holder.at(weir);
    expect((await caller.call("100")).status).toBe(200);
    await caller.close();
    await weir.idle();
  }

  it("of RFC 4475 is answered or dropped and costs nothing", async () => {
    const messages = readdirSync(corpus).filter((file) => file.endsWith(".dat"));
    expect(messages).toHaveLength(49);
    await harmless(messages.map((file) => readFileSync(new URL(file, corpus))));
  });

  it("that is a good INVITE cut short at any byte is answered 400 or dropped", async ({ skip }) => {
    skip(onDrachtio, "drachtio-server takes a body shorter than its Content-Length");
    const text = good().invite();
    await harmless(Array.from({ length: text.length }, (_, length) => text.slice(0, length)));
    const statuses = new Set(sender.received.map(({ message }) => message.status));
    expect([...statuses].filter((status) => ![100, 400, 483].includes(status))).toEqual([]);
    expect(statuses).toContain(400);
  });

  it.each([
    ["without From", 400, (text: string) => text.replace(/^From:.*\r\n/m, "")],
    ["without To", 400, (text: string) => text.replace(/^To:.*\r\n/m, "")],
    ["without Call-ID", 400, (text: string) => text.replace(/^Call-ID:.*\r\n/m, "")],
    ["without CSeq", 400, (text: string) => text.replace(/^CSeq:.*\r\n/m, "")],
    ["with the CSeq of another method", 400, (text: string) => text.replace("CSeq: 1 INVITE", "CSeq: 1 OPTIONS")],
    ["with a CSeq that is no number", 400, (text: string) => text.replace("CSeq: 1 ", "CSeq: x1 ")],
    ["with a CSeq beyond 2**31", 400, (text: string) => text.replace("CSeq: 1 ", "CSeq: 36893488147419103232 ")],
    [
      "with a Content-Length of 4 GB",
      400,
      (text: string) => text.replace(/Content-Length: \d+/, "Content-Length: 4294967296"),
    ],
    [
      "with a negative Content-Length",
      400,
      (text: string) => text.replace(/Content-Length: \d+/, "Content-Length: -1"),
    ],
    ["of SIP/7.0", 505, (text: string) => text.replace(" SIP/2.0\r\n", " SIP/7.0\r\n")],
    ["to a URI of an unknown scheme", 416, (text: string) => text.replace(/INVITE \S+/, "INVITE nobodyKnows:this")],
  ])("%s is answered %i", async (_, status, harm) => {
    const text = harm(good().invite());
    await harmless([text]);
    const { branch } = /branch=(?<branch>[^;]+)/.exec(text)?.groups ?? {};
    const answer = await sender.receive("an answer", (m) => {
      return m.status >= 200 && m.header("Via").includes(`branch=${branch};`);
    });
    expect(answer.status).toBe(status);
  });

  it("that is no SIP, or a response to nothing, is dropped", async () => {
    const noise = Buffer.from(Array.from({ length: 900 }, (_, index) => (index * 73 + 19) % 256));
    const stray = good()
      .invite()
      .replace(/^INVITE.*/, "SIP/2.0 200 OK");
    const beyond = good()
      .invite()
      .replace(/^INVITE.*/, "SIP/2.0 99999 Way Too Much");
    await harmless([
      "",
      "\r\n".repeat(40),
      "\0".repeat(600),
      noise,
      "INVITE",
      stray,
      beyond,
      good()
        .invite()
        .replace(/^Via:.*\r\n/m, ""),
    ]);
    // Only the good messages at the end were answered.
    expect(sender.received.map(({ message }) => message.status).filter((status) => status > 100)).toEqual([483]);
  });

  it("with headers named like members of a JavaScript object, or with thousands of them, hurts nothing", async ({
    skip,
  }) => {
    skip(onDrachtio, "drachtio-server takes any number of header fields");
    const named = (name: string) => good().invite({ maxForwards: 0 }).replace("To:", `${name}: 1\r\nTo:`);
    const many = good()
      .invite()
      .replace("To:", `${Array.from({ length: 2_000 }, (_, n) => `X-${n}: 1\r\n`).join("")}To:`);
    const long = good()
      .invite()
      .replace("To:", `X-Long: ${"a".repeat(20_000)}\r\nTo:`);
    await harmless([...["__proto__", "constructor", "toString", "hasOwnProperty"].map(named), many, long]);
  });
});
