import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import type { Target } from "../../src/engine/transport/transport.ts";
import { eventually } from "../support/eventually.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { atEnd, flowTo, options, station, tcp } from "./engine-transport-support.ts";

const target = (port: number): Target => ({ protocol: "tcp", address: "127.0.0.1", port });

interface Client {
  readonly socket: Socket;
  text: string;
  closed: boolean;
}

/** A plain TCP connection to a listener, which keeps what it gets. */
async function client(port: number): Promise<Client> {
  const socket = connect(port, "127.0.0.1");
  const result: Client = { socket, text: "", closed: false };
  socket.on("data", (bytes) => {
    result.text += bytes.toString("latin1");
  });
  socket.on("close", () => {
    result.closed = true;
  });
  socket.on("error", () => {
    // A reset is one of the ends the tests look for; "close" follows it.
  });
  atEnd(() => socket.destroy());
  await once(socket, "connect");
  return result;
}

/** A plain TCP server that keeps what it gets. */
async function server(): Promise<{ port: number; sockets: Socket[]; text: () => string }> {
  const sockets: Socket[] = [];
  let text = "";
  const listening = createServer((socket) => {
    sockets.push(socket);
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
    });
    socket.on("error", () => {
      // The other side may reset.
    });
  });
  listening.listen(0, "127.0.0.1");
  await once(listening, "listening");
  atEnd(() => {
    for (const socket of sockets) socket.destroy();
    listening.close();
  });
  const address = listening.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { port: address.port, sockets, text: () => text };
}

describe("a TCP listener", () => {
  it("hands on every message of a segment and answers by the same connection", async () => {
    const here = await station([tcp], { handle: (message, flow) => flow.send(options(`re-${message.callId}`)) });
    const there = await client(here.at(0).port);
    there.socket.write(`\r\n${options("a")}${options("b", { body: "body" })}${options("c")}`);
    await eventually("three answers", () => there.text.split("OPTIONS sip:").length === 4);
    expect(here.arrived.map(({ message }) => message.callId)).toEqual(["a", "b", "c"]);
    expect(here.arrived[1]?.message.body).toBe("body");
    expect(here.arrived[0]?.flow).toMatchObject({
      protocol: "tcp",
      reliable: true,
      localAddress: "127.0.0.1",
      localPort: here.at(0).port,
      remotePort: there.socket.localPort,
    });
  });

  it("puts a message together that comes byte by byte", async () => {
    const here = await station([tcp]);
    const there = await client(here.at(0).port);
    there.socket.setNoDelay(true);
    for (const byte of options("slow", { body: "xyz" })) there.socket.write(byte);
    await eventually("the message", () => here.arrived.length > 0);
    expect(here.arrived[0]?.message.body).toBe("xyz");
  });

  it("answers a double CRLF by a single one", async () => {
    const here = await station([tcp]);
    const there = await client(here.at(0).port);
    there.socket.write("\r\n\r\n");
    await eventually("the pong", () => there.text === "\r\n");
    expect(here.transports.counters.keepAlives).toBe(1);
  });

  it("hands on a malformed message and keeps the connection, whose framing is intact", async () => {
    const here = await station([tcp]);
    const there = await client(here.at(0).port);
    there.socket.write(options("bad").replace("CSeq: 1", "CSeq: y") + options("good"));
    await eventually("the good one", () => here.arrived.length > 0);
    expect(here.malformed.map(({ message }) => message.status)).toEqual([400]);
    expect(there.closed).toBe(false);
  });

  for (const [what, bytes] of [
    ["garbage", "\x16\x03\x01\x00\xa5\x01"],
    ["a start line that is none", "FOO\r\n\r\n"],
    ["a broken response", "SIP/2.0 9999 X\r\nContent-Length: 0\r\n\r\n"],
    ["a message without end", `OPTIONS sip:a@h SIP/2.0\r\nX: ${"a".repeat(70_000)}`],
  ] as const) {
    it(`closes a connection that carries ${what}`, async () => {
      const here = await station([tcp]);
      const there = await client(here.at(0).port);
      there.socket.write(bytes, "latin1");
      await eventually("the end", () => there.closed);
      expect(here.transports.counters).toMatchObject({ connections: 0, connectionsClosed: 1 });
      expect([...here.transports.counters.malformed.values()]).toEqual([1]);
    });
  }

  for (const length of ["4294967296", "-1", "many"]) {
    it(`has a request with a Content-Length of ${length} answered, and closes the connection`, async () => {
      const here = await station([tcp]);
      const there = await client(here.at(0).port);
      there.socket.write(options("x").replace("Content-Length: 0", `Content-Length: ${length}`));
      await eventually("the end", () => there.closed);
      expect(here.malformed.map(({ message }) => message.status)).toEqual([400]);
      expect(here.transports.counters.connections).toBe(0);
    });
  }

  it("writes the answer to a broken request before it closes the connection", async () => {
    const here = await station([tcp], { refuse: (_, flow) => flow.send(options("refused")) });
    const there = await client(here.at(0).port);
    there.socket.write(options("x").replace("Content-Length: 0", "Content-Length: -1"));
    await eventually("the end", () => there.closed);
    expect(there.text).toContain("Call-ID: refused");
  });

  it("turns away more connections than a source may have, and takes one again when another ends", async () => {
    const here = await station([tcp], { limits: { connectionsPerSource: 2 } });
    const first = await client(here.at(0).port);
    const second = await client(here.at(0).port);
    const third = await client(here.at(0).port);
    await eventually("the refusal", () => third.closed);
    expect([first.closed, second.closed]).toEqual([false, false]);
    expect(here.transports.counters).toMatchObject({ connections: 2, connectionsRefused: 1 });
    first.socket.destroy();
    await eventually("room", () => here.transports.counters.connections === 1);
    const fourth = await client(here.at(0).port);
    fourth.socket.write(options("in"));
    await eventually("the message", () => here.arrived.length > 0);
  });

  it("closes a connection whose message is not complete within 30 s", async () => {
    const clock = new ManualClock();
    const here = await station([tcp], { clock });
    const there = await client(here.at(0).port);
    there.socket.write(`${options("whole")}OPTIONS sip:`);
    await eventually("the whole message", () => here.arrived.length > 0);
    clock.advance(29_000);
    there.socket.write("a@h");
    await eventually(
      "the next bytes",
      () => there.socket.bytesWritten > 0 && here.transports.counters.connections === 1,
    );
    expect(there.closed).toBe(false);
    clock.advance(1_000);
    await eventually("the end", () => there.closed);
    expect(here.transports.counters).toMatchObject({ connections: 0, connectionsClosed: 1 });
    expect(clock.pending, "no timer is left behind").toBe(0);
  });

  it("lets a connection be idle between messages, but not for ever", async () => {
    const clock = new ManualClock();
    const here = await station([tcp], { clock, limits: { idleTimeout: 100_000 } });
    const there = await client(here.at(0).port);
    there.socket.write("\r\n");
    await eventually("the connection", () => here.transports.counters.connections === 1);
    clock.advance(90_000);
    there.socket.write(options("alive"));
    await eventually("the message", () => here.arrived.length > 0);
    clock.advance(90_000);
    expect(here.transports.counters.connections).toBe(1);
    clock.advance(10_000);
    await eventually("the end", () => there.closed);
  });

  it("closes a connection whose peer never reads", async () => {
    const here = await station([tcp], { limits: { unreadBytes: 200_000 } });
    const there = await client(here.at(0).port);
    there.socket.pause();
    there.socket.write(options("hello"));
    await eventually("the message", () => here.arrived.length > 0);
    const flow = here.arrived[0]?.flow;
    await eventually("the end", () => {
      for (let i = 0; i < 20; i++) flow?.send(options("unread", { body: "x".repeat(50_000) }));
      return here.transports.counters.connections === 0;
    });
    expect(here.transports.counters.connectionsClosed).toBe(1);
  });

  it("drops every connection when it stops", async () => {
    const clock = new ManualClock();
    const here = await station([tcp], { clock });
    const there = await client(here.at(0).port);
    there.socket.write("OPTIONS sip:half");
    await eventually("the connection", () => here.transports.counters.connections === 1);
    await here.transports.stop();
    await eventually("the end", () => there.closed);
    expect(here.transports.counters.connections).toBe(0);
    expect(clock.pending).toBe(0);
  });
});

describe("a TCP flow to a peer", () => {
  it("is one connection for all, from the listener's address, and what the peer sends on it arrives", async () => {
    const here = await station([{ ...tcp, address: "127.0.0.3" }]);
    const there = await server();
    const flow = flowTo(here.transports, target(there.port));
    flow.send(options("a"));
    expect(flowTo(here.transports, target(there.port))).toBe(flow);
    flow.send(options("b"));
    await eventually("both", () => there.text() === options("a") + options("b"));
    expect(there.sockets).toHaveLength(1);
    expect(there.sockets[0]?.remoteAddress).toBe("127.0.0.3");
    expect(flow).toMatchObject({ localAddress: "127.0.0.3", localPort: here.at(0).port, remotePort: there.port });
    there.sockets[0]?.write(options("back"));
    await eventually("the answer", () => here.arrived.length > 0);
    expect(here.arrived[0]?.flow).toBe(flow);
  });

  it("takes the connection that the peer opened", async () => {
    const here = await station([tcp]);
    const there = await client(here.at(0).port);
    there.socket.write(options("hello"));
    await eventually("the message", () => here.arrived.length > 0);
    const { localPort } = there.socket;
    expect(flowTo(here.transports, target(localPort ?? 0))).toBe(here.arrived[0]?.flow);
  });

  it("reports a refused connection", async () => {
    const here = await station([tcp]);
    const errors: Error[] = [];
    const flow = flowTo(here.transports, target(await closedPort()));
    flow.onFailure((error) => errors.push(error));
    flow.send(options("x"));
    await eventually("the failure", () => errors.length > 0);
    expect(errors[0]?.message).toContain("ECONNREFUSED");
    expect(here.transports.counters.connections).toBe(0);
    expect(() => flow.send(options("later"))).not.toThrow();
  });

  it("reports once a connection that the peer closes, and the next flow is a new connection", async () => {
    const here = await station([tcp]);
    const there = await server();
    const flow = flowTo(here.transports, target(there.port));
    const errors: Error[] = [];
    flow.onFailure((error) => errors.push(error));
    flow.send(options("a"));
    await eventually("the message", () => there.text() !== "");
    there.sockets[0]?.resetAndDestroy();
    await eventually("the failure", () => errors.length > 0);
    expect(flowTo(here.transports, target(there.port))).not.toBe(flow);
    expect(errors).toHaveLength(1);
  });

  it("gives up a connection that does not come up in 4 s", async () => {
    const clock = new ManualClock();
    const here = await station([tcp], { clock });
    const there = await server();
    const flow = flowTo(here.transports, target(there.port));
    const errors: Error[] = [];
    flow.onFailure((error) => errors.push(error));
    // The connection is still being made: nothing has let the event loop turn.
    clock.advance(4_000);
    await eventually("the failure", () => errors.length > 0);
    expect(errors[0]?.message).toBe(`127.0.0.1 port ${there.port} did not answer in time`);
    expect(clock.pending).toBe(0);
  });

  it("is not to be had when the connections are used up", async () => {
    const here = await station([tcp], { limits: { connections: 1 } });
    const there = await server();
    flowTo(here.transports, target(there.port));
    expect(here.transports.flowTo(target(await closedPort()))).toBeUndefined();
    expect(here.transports.counters.connectionsRefused).toBe(1);
  });
});

/** A TCP port that nobody listens on. */
async function closedPort(): Promise<number> {
  const listening = createServer();
  listening.listen(0, "127.0.0.1");
  await once(listening, "listening");
  const address = listening.address();
  listening.close();
  await once(listening, "close");
  return address !== null && typeof address === "object" ? address.port : 0;
}

describe("the way back of a response over TCP", () => {
  it("is the connection of the request, or a new one to the Via's port when that is gone", async () => {
    const here = await station([tcp]);
    const there = await server();
    const caller = await client(here.at(0).port);
    caller.socket.write(options("ask", { via: `SIP/2.0/TCP 127.0.0.1:${there.port};branch=z9hG4bKx` }));
    const [first] = await eventually("the request", () => here.arrived.length > 0 && here.arrived);
    if (first === undefined) throw new Error("nothing arrived");
    const back = here.transports.responseFlow(first.message, first.flow);
    back.send(options("one"));
    await eventually("the first answer", () => caller.text === options("one"));
    caller.socket.destroy();
    await eventually("the end", () => here.transports.counters.connections === 0);
    back.send(options("two"));
    await eventually("the second answer", () => there.text() === options("two"));
  });
});
