import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { type Target, Transports } from "../../src/engine/transport/transport.ts";
import { WeirError } from "../../src/errors.ts";
import { eventually } from "../support/eventually.ts";
import { deadPort, flowTo, options, peer, station, udp } from "./engine-transport-support.ts";

const silent = { message() {}, malformed() {} };
const target = (port: number, address = "127.0.0.1"): Target => ({ protocol: "udp", address, port });

describe("a UDP listener", () => {
  it("hands on a datagram with the flow back to its sender", async () => {
    const here = await station([udp]);
    const there = await peer();
    there.socket.send(options("a"), here.at(0).port, "127.0.0.1");
    const [first] = await eventually("the message", () => here.arrived.length > 0 && here.arrived);
    expect(first?.message.callId).toBe("a");
    expect(first?.bytes).toBe(options("a").length);
    expect(first?.flow).toMatchObject({
      protocol: "udp",
      reliable: false,
      localAddress: "127.0.0.1",
      localPort: here.at(0).port,
      remoteAddress: "127.0.0.1",
      remotePort: there.port,
    });
    first?.flow.send(options("back", { body: "\xff\x00\x80" }));
    await eventually("the answer", () => there.received.length > 0);
    expect(there.received[0]?.endsWith("\xff\x00\x80")).toBe(true);
    expect(here.transports.counters).toMatchObject({ messagesIn: 1, messagesOut: 1 });
  });

  it("hands on what is malformed, counts it by reason, and lives on", async () => {
    const here = await station([udp]);
    const there = await peer();
    const broken = options("x").replace("CSeq: 1", "CSeq: y");
    for (const bytes of [broken, "garbage", broken, "\xff\xfe"]) there.socket.send(bytes, here.at(0).port, "127.0.0.1");
    await eventually("all of them", () => here.malformed.length === 4);
    expect(here.malformed.map(({ message }) => message.status).sort()).toEqual([0, 0, 400, 400]);
    expect(here.transports.counters.malformed).toEqual(
      new Map([
        ["Missing Or Malformed CSeq", 2],
        ["Malformed Start Line", 2],
      ]),
    );
    expect(here.arrived).toEqual([]);
  });

  it("counts keep-alives and bothers nobody with them", async () => {
    const here = await station([udp]);
    const there = await peer();
    for (const bytes of ["", "\r\n\r\n", "\0\0\0\0", "\r\n".repeat(40)])
      there.socket.send(bytes, here.at(0).port, "127.0.0.1");
    await eventually("four keep-alives", () => here.transports.counters.keepAlives === 4);
    expect(here.malformed).toEqual([]);
  });

  it("writes what handlers send only after all of a turn's messages were handled", async () => {
    const order: string[] = [];
    const there = await peer();
    const here = await station([udp], {
      handle: (message, flow) => {
        order.push(`handled ${message.callId}, sent ${here.transports.counters.messagesOut}`);
        flow.send(options(`re-${message.callId}`));
      },
    });
    // Both are in the socket's buffer before this thread reads again, so they are one turn's.
    there.socket.send(options("a"), here.at(0).port, "127.0.0.1");
    there.socket.send(options("b"), here.at(0).port, "127.0.0.1");
    await eventually("both answers", () => there.received.length === 2);
    expect(order).toEqual(["handled a, sent 0", "handled b, sent 0"]);
  });

  it("shields the other messages of a turn from a handler that throws", async () => {
    const there = await peer();
    const here = await station([udp], {
      handle: (message) => {
        if (message.callId === "a") throw new Error("a defect");
      },
    });
    for (const id of ["a", "b"]) there.socket.send(options(id), here.at(0).port, "127.0.0.1");
    await eventually("both", () => here.arrived.length === 2);
    expect(here.transports.counters.defects).toBe(1);
    expect(here.defects).toEqual([new Error("a defect")]);
  });

  it("listens on IPv6 beside IPv4 and picks the listener of the target's family", async () => {
    const here = await station([udp, { protocol: "udp", address: "::1", port: 0 }]);
    const there = await peer("::1");
    const flow = flowTo(here.transports, target(there.port, "0:0:0:0:0:0:0:1"), "always");
    expect(flow).toMatchObject({ localAddress: "::1", remoteAddress: "::1", localPort: here.at(1).port });
    flow.send(options("six"));
    await eventually("the datagram", () => there.received.length > 0);
    there.socket.send(options("back"), here.at(1).port, "::1");
    await eventually("the answer", () => here.arrived.length > 0);
    expect(here.arrived[0]?.flow.remoteAddress).toBe("::1");
  });

  it("behind a wildcard shows the address that the route to the peer has", async () => {
    const here = await station([{ protocol: "udp", address: "0.0.0.0", port: 0 }]);
    expect(flowTo(here.transports, target(5060)).localAddress).toBe("127.0.0.1");
    expect(here.transports.isLocal("127.0.0.1", here.at(0).port)).toBe(true);
    expect(here.transports.isLocal("127.9.9.9", here.at(0).port)).toBe(true);
    expect(here.transports.isLocal("192.0.2.1", here.at(0).port)).toBe(false);
  });
});

describe("starting", () => {
  it("fails with the address when a port is taken, and leaves nothing bound", async () => {
    const taken = await peer();
    const free = await deadPort();
    const transports = new Transports([target(free), target(taken.port)], silent, { clock: systemClock });
    const error = await transports.start().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(WeirError);
    expect(error).toMatchObject({
      code: "WEIR_LISTEN_FAILED",
      detail: {
        protocol: "udp",
        address: "127.0.0.1",
        port: taken.port,
        reason: expect.stringContaining("EADDRINUSE"),
      },
    });
    const again = await station([target(free)]);
    expect(again.at(0).port).toBe(free);
  });

  it("fails when another of its kind has the port, although the sockets allow reuse", async () => {
    const first = await station([udp]);
    const second = new Transports([first.at(0)], silent, { clock: systemClock });
    await expect(second.start()).rejects.toMatchObject({ code: "WEIR_LISTEN_FAILED" });
  });

  it("says that TLS needs a certificate", async () => {
    const transports = new Transports([{ protocol: "tls", address: "127.0.0.1", port: 0 }], silent, {
      clock: systemClock,
    });
    await expect(transports.start()).rejects.toMatchObject({
      detail: { protocol: "tls", reason: "TLS needs a certificate and its key" },
    });
  });
});

describe("a watched UDP flow", () => {
  it("sends from the listener's port and takes what comes back", async () => {
    const here = await station([udp]);
    const there = await peer();
    const froms: number[] = [];
    there.socket.on("message", (_, from) => froms.push(from.port));
    flowTo(here.transports, target(there.port), "always").send(options("out"));
    await eventually("the datagram", () => froms.length > 0);
    expect(froms).toEqual([here.at(0).port]);
    there.socket.send(options("in"), here.at(0).port, "127.0.0.1");
    await eventually("the answer", () => here.arrived.length > 0);
    const stranger = await peer();
    stranger.socket.send(options("other"), here.at(0).port, "127.0.0.1");
    await eventually("the datagram of another", () => here.arrived.length > 1);
    expect(here.arrived[1]?.flow.remotePort).toBe(stranger.port);
  });

  it("reports a closed port, to those who still listen, in a turn", async () => {
    const here = await station([udp]);
    const flow = flowTo(here.transports, target(await deadPort()), "always");
    const errors: Error[] = [];
    const unwanted: Error[] = [];
    flow.onFailure((error) => errors.push(error));
    flow.onFailure((error) => unwanted.push(error))();
    flow.send(options("x"));
    await eventually("the failure", () => errors.length > 0);
    expect(errors[0]?.message).toContain("ECONNREFUSED");
    expect(unwanted).toEqual([]);
    expect(here.transports.counters.failures).toBe(errors.length);
  });

  it("works for a peer that comes up later", async () => {
    const here = await station([udp]);
    const port = await deadPort();
    const flow = flowTo(here.transports, target(port), "always");
    flow.send(options("nobody"));
    await eventually("the failure", () => here.transports.counters.failures > 0);
    const there = await peer("127.0.0.1", port);
    flow.send(options("somebody"));
    await eventually("the datagram", () => there.received.length > 0);
  });

  it("is one socket a peer, and the one used longest ago gives way at the cap", async () => {
    const here = await station([udp], { limits: { watchedPeers: 2 } });
    const [a, b, c] = [await peer(), await peer(), await peer()];
    const first = flowTo(here.transports, target(a.port), "always");
    flowTo(here.transports, target(b.port), "always");
    expect(flowTo(here.transports, target(a.port), "always")).toBe(first);
    flowTo(here.transports, target(c.port), "always");
    expect(here.transports.counters.watchedPeers).toBe(2);
    expect(flowTo(here.transports, target(a.port), "always"), "a was used later than b").toBe(first);
  });

  it("is not had at the cap by what asks for it only if there is room", async () => {
    const here = await station([udp], { limits: { watchedPeers: 1 } });
    const [a, b] = [await peer(), await peer()];
    const first = flowTo(here.transports, target(a.port), "if-room");
    flowTo(here.transports, target(b.port), "if-room").send(options("out"));
    await eventually("the datagram", () => b.received.length > 0);
    expect(flowTo(here.transports, target(a.port), "if-room")).toBe(first);
    expect(here.transports.counters.watchedPeers).toBe(1);
  });

  it("that was given up still sends, by the listening socket", async () => {
    const here = await station([udp], { limits: { watchedPeers: 1 } });
    const [a, b] = [await peer(), await peer()];
    const held = flowTo(here.transports, target(a.port), "always");
    flowTo(here.transports, target(b.port), "always");
    held.send(options("still"));
    await eventually("the datagram", () => a.received.length > 0);
  });
});

describe("an unwatched UDP flow", () => {
  it("reports what the system refuses to send", async () => {
    const here = await station([udp]);
    const there = await peer();
    const flow = flowTo(here.transports, target(there.port));
    const errors: Error[] = [];
    flow.onFailure((error) => errors.push(error));
    flow.send(options("big", { body: "x".repeat(70_000) }));
    await eventually("the failure", () => errors.length > 0);
    expect(errors[0]?.message).toContain("EMSGSIZE");
  });

  it("is not to be had for a name, a port out of range, or a protocol that is not listened on", async () => {
    const { transports } = await station([udp]);
    expect(transports.flowTo(target(5060, "localhost"))).toBeUndefined();
    expect(transports.flowTo(target(0))).toBeUndefined();
    expect(transports.flowTo(target(65_536))).toBeUndefined();
    expect(transports.flowTo(target(5060, "::1"))).toBeUndefined();
    expect(transports.flowTo({ protocol: "tcp", address: "127.0.0.1", port: 5060 })).toBeUndefined();
    expect(transports.flowTo({ protocol: "tls", address: "127.0.0.1", port: 5061 })).toBeUndefined();
  });
});
