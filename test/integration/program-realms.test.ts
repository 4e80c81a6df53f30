import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { onDrachtio } from "../support/external-engine.ts";
import { freePort, Loopback } from "../support/loopback.ts";
import { type Arrival, RawUa } from "../support/raw-ua.ts";
import { byeAfter, RawCall, responseTo } from "../support/sip-text.ts";
import { Weir } from "../support/weir.ts";

/** Which of the program's own addresses each message leaves from, with a realm on each. A drachtio-server chooses that by itself. */
describe.skipIf(onDrachtio)("realms", () => {
  const network = new Loopback();
  const access = { address: network.address(2), port: 0 };
  const core = { address: network.address(3), port: 0 };
  const agent = { address: network.address(11), port: 0 };
  let weir: Weir;
  let carrier: RawUa;
  const atCarrier: Arrival[] = [];

  beforeAll(async () => {
    for (const each of [access, core, agent]) each.port = await freePort(each.address);
    // Before the first ping, or it would be out of service.
    carrier = await RawUa.open(agent, (arrival, ua) => {
      atCarrier.push(arrival);
      const { message, from } = arrival;
      if (message.status === 0 && message.method !== "ACK") ua.send(responseTo(message, 200, "OK", agent), from);
    });
    weir = await Weir.start({
      agents: {
        carrier: {
          "ip-address": agent.address,
          port: agent.port,
          "realm-id": "core",
          "ping-method": "OPTIONS",
          "ping-interval": 1,
        },
      },
      routes: { "100": ["carrier"] },
      more: {
        realms: [
          { identifier: "access", listen: [`udp://${access.address}:${access.port}`], allow: "any" },
          { identifier: "core", listen: [`udp://${core.address}:${core.port}`], allow: "agents" },
        ],
      },
    });
  });

  afterAll(async () => {
    carrier?.close();
    await weir?.stop();
  });

  it("keep every message on the address of its own: calls, what follows in them, and pings", async () => {
    const atCaller: Arrival[] = [];
    const local = { address: network.address(101), port: await freePort(network.address(101)) };
    const caller = await RawUa.open(local, (arrival, ua) => {
      atCaller.push(arrival);
      const { message, from } = arrival;
      if (message.method === "BYE" && message.status === 0) ua.send(responseTo(message, 200, "OK", local), from);
    });
    const call = new RawCall(local, access, "100");
    caller.send(call.invite(), access);
    caller.send(call.ack(await caller.final(call.callId)), access);
    const ack = await carrier.receive("ACK", ({ method }) => method === "ACK");
    await carrier.receive("a ping", ({ method }) => method === "OPTIONS", 8_000);
    carrier.send(byeAfter(ack, agent, core), core);
    await caller.receive("BYE", ({ method }) => method === "BYE");
    await weir.idle();
    expect(new Set(atCarrier.map(({ from }) => `${from.address}:${from.port}`))).toEqual(
      new Set([`${core.address}:${core.port}`]),
    );
    expect(new Set(atCaller.map(({ from }) => `${from.address}:${from.port}`))).toEqual(
      new Set([`${access.address}:${access.port}`]),
    );
    const invite = atCarrier.find(({ message }) => message.method === "INVITE")?.message;
    expect(invite?.header("Via")).toContain(`${core.address}:${core.port}`);
    expect(invite?.header("Contact")).toContain(`@${core.address}:${core.port}`);
    expect(invite?.text).not.toContain(access.address);
    caller.close();
  });
});
