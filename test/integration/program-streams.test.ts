import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { onDrachtio } from "../support/external-engine.ts";
import { Holder } from "../support/held-call.ts";
import { answeringAgent, RawConnection, type RawUa } from "../support/raw-ua.ts";
import { RawCall, SipText } from "../support/sip-text.ts";
import { Weir } from "../support/weir.ts";

/** A message has to be complete within 30 s of its first byte. */
const COMPLETION_MS = 30_000;
const unguarded = "drachtio-server keeps a connection whatever comes over it";

describe("a TCP peer", () => {
  let weir: Weir;
  let agent: RawUa;

  beforeAll(async () => {
    weir = await Weir.start({ agents: { carrier: {} }, routes: { "100": ["carrier"] } });
    agent = await answeringAgent(weir.agent("carrier"));
  });
  afterAll(async () => {
    agent?.close();
    await weir?.stop();
  });

  const peer = async () => {
    const { address } = await weir.caller();
    const connection = await RawConnection.open(weir.listen, address);
    const call = () => new RawCall({ address, port: connection.localPort }, weir.listen, "100", "TCP");
    return { connection, call };
  };

  /** It lost its connection, and costs nothing else. */
  async function cutOff(connection: RawConnection, patienceMs?: number): Promise<void> {
    await eventually("the connection closed", () => connection.closed, patienceMs === undefined ? {} : { patienceMs });
    expect((await weir.view("carrier")).state.letter).toBe("I");
    await weir.idle();
    const caller = await Holder.at(weir);
    expect((await caller.call("100")).status).toBe(200);
    await caller.close();
    await weir.idle();
  }

  it.concurrent("that sends garbage loses its connection", async ({ skip }) => {
    skip(onDrachtio, unguarded);
    const { connection } = await peer();
    connection.write("GET / HTTP/1.1\r\nHost: weir\r\n\r\n");
    await cutOff(connection);
  });

  it.concurrent("that sends bytes without an end loses its connection", async ({ skip }) => {
    skip(onDrachtio, unguarded);
    const { connection } = await peer();
    connection.write("x".repeat(200_000));
    await cutOff(connection);
  });

  it.concurrent("that announces a body of 4 GB loses its connection", async () => {
    const { connection, call } = await peer();
    connection.write(
      call()
        .invite()
        .replace(/Content-Length: \d+/, "Content-Length: 4294967296"),
    );
    await cutOff(connection);
  });

  it.concurrent("that sends 1 byte a second loses its connection when the message is not complete in time", async ({
    skip,
  }) => {
    skip(onDrachtio, unguarded);
    const { connection, call } = await peer();
    const text = call().invite();
    let sent = 0;
    const drip = setInterval(() => connection.write(text[sent++] ?? ""), 1_000);
    try {
      await cutOff(connection, COMPLETION_MS + 15_000);
    } finally {
      clearInterval(drip);
    }
    expect(sent).toBeGreaterThanOrEqual(COMPLETION_MS / 1_000 - 2);
    expect(agent.received.map(({ message }) => message.header("Call-ID"))).not.toContain(call().callId);
  }, 60_000);

  it.concurrent("that pings by two CRLFs has its pong (RFC 5626 section 4.4.1)", async () => {
    const { connection } = await peer();
    connection.write("\r\n\r\n");
    await eventually("a pong", () => connection.received === "\r\n");
    connection.close();
  });

  it.concurrent("that sends three calls in one segment, and one in many, has an answer to each", async ({ skip }) => {
    skip(onDrachtio, "drachtio-server does not skip an empty line before a request (RFC 3261 section 7.5)");
    const { connection, call } = await peer();
    const calls = [call(), call(), call(), call()];
    const texts = calls.map((each) => each.invite({ maxForwards: 0 }));
    connection.write(`\r\n${texts.slice(0, 3).join("")}`);
    for (const character of texts[3] ?? "") connection.write(character);
    const answered = () => connection.received.match(/^SIP\/2\.0 483 /gm)?.length === 4;
    await eventually("four answers", answered, { found: () => connection.received });
    for (const each of calls) {
      const final = connection.received
        .split(/(?=^SIP\/2\.0 )/m)
        .find((text) => text.includes("483") && text.includes(each.callId));
      expect(final).toBeDefined();
      connection.write(each.ack(new SipText(final ?? "")));
    }
    connection.close();
  });
});
