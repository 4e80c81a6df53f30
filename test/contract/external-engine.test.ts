import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { ExternalEngine } from "../support/external-engine.ts";
import { Holder } from "../support/held-call.ts";
import { Phone } from "../support/phone.ts";
import { answeringAgent, RawUa } from "../support/raw-ua.ts";
import { Registrar } from "../support/registrar.ts";
import { RawCall, responseTo } from "../support/sip-text.ts";
import { Weir } from "../support/weir.ts";

/** An agent that lets every call ring. */
const ringingAgent = (weir: Weir) =>
  RawUa.open(weir.agent("ringing"), ({ message, from }, ua) => {
    if (message.method === "INVITE") ua.send(responseTo(message, 180, "Ringing", ua.local), from);
  });

describe("the program on an engine outside", () => {
  let weir: Weir;
  let engine: ExternalEngine;
  let peers: { close(): void }[];

  beforeEach(async () => {
    weir = await Weir.launch({
      agents: { carrier: { "max-outbound-sessions": 1 }, ringing: {}, registrar: {} },
      routes: { "100": ["carrier"], "200": ["ringing"], "300": ["registrar"] },
      external: true,
    });
    if (!weir.engine) throw new Error("this Weir uses no engine outside");
    engine = weir.engine;
    peers = [await answeringAgent(weir.agent("carrier")), await ringingAgent(weir)];
  });
  afterEach(async () => {
    for (const peer of peers) peer.close();
    await weir.stop();
  });

  const notReady = () =>
    eventually("/readyz naming the engine as missing", async () => {
      const { status, text } = await weir.get("/readyz");
      return status === 503 && text.includes("signalling engine");
    });

  /** A call is answered, counted, hung up on, and counted no more. */
  async function serves(): Promise<void> {
    const caller = await Holder.at(weir);
    expect((await caller.call("100")).status).toBe(200);
    await weir.sessions("carrier", "outbound", 1);
    await caller.close();
    await weir.idle();
  }

  it("may start before it: it is alive, not ready, and serves once the engine is there", async () => {
    await eventually("/healthz answering 200", async () => {
      const { status } = await weir.get("/healthz").catch(() => ({ status: 0 }));
      return status === 200;
    });
    await notReady();
    await engine.start();
    await weir.ready();
    await serves();
    await eventually("the log telling so", () => weir.log.includes("signalling engine back"));
    expect(weir.log.match(/signalling engine back/g)).toHaveLength(1);
    // Once for each attempt, with its reason.
    expect(weir.log).toMatch(/ECONNREFUSED.*signalling engine out of reach/);
    expect(weir.log).not.toMatch(/closed.*signalling engine out of reach/);
  });

  it("outlives its loss: every place is given back, /readyz says so, and when it is back calls work", async () => {
    await engine.start();
    await weir.ready();
    for (let times = 0; times < 2; times++) {
      const caller = await Holder.at(weir);
      expect((await caller.call("100")).status).toBe(200);
      const rings = await RawUa.open(await weir.caller());
      const call = new RawCall(rings.local, weir.listen, "200");
      rings.send(call.invite(), weir.listen);
      await rings.receive("180", ({ status }) => status === 180);
      peers.push(rings);
      await weir.sessions("carrier", "outbound", 1);
      await weir.sessions("ringing", "outbound", 1);

      await engine.kill();
      await notReady();
      await weir.idle();
      expect((await weir.get("/healthz")).status).toBe(200);
      expect((await weir.view("carrier")).state.letter).toBe("I");
      expect((await weir.view("ringing")).state.letter).toBe("I");

      await engine.start();
      await weir.ready();
      // The agent has one place: it was given back.
      await serves();
    }
  });

  it("takes no `Contact: *`, so a phone's Contacts are unregistered one by one", async () => {
    await engine.start();
    await weir.ready();
    const registrar = await Registrar.at(weir.agent("registrar"));
    const phone = await Phone.overUdp("300", weir.listen, await weir.caller());
    peers.push(registrar, phone);
    const sent = () => (registrar.registers.at(-1)?.headers("Contact") ?? []).flatMap((line) => line.split(/,\s*/));
    const contacts = [1, 2].map((at) => `<sip:x@10.99.99.5:${at}>`).join(", ");
    expect((await phone.register(300, { contact: contacts })).status).toBe(200);
    const registered = sent();
    expect(registered).toHaveLength(2);
    expect((await phone.register(0, { contact: "*" })).status).toBe(200);
    expect(sent()).toEqual(registered.map((contact) => `${contact};expires=0`));
    expect((await phone.register(0, { contact: "*" })).status).toBe(200);
    expect(sent()).toEqual([]);
  });

  it.each(["INVITE", "SUBSCRIBE"])(
    "is not brought down by an answer to %s whose Contact has no host",
    async (method) => {
      await engine.start();
      await weir.ready();
      const stranger = await RawUa.open(await weir.caller());
      peers.push(stranger);
      for (const contact of ["<tel:+15551000>", "urn:service:sos"]) {
        const request = new RawCall(stranger.local, weir.listen, "100").invite();
        stranger.send(
          request.replaceAll("INVITE", method).replace(/^Contact: .*$/m, `Contact: ${contact}`),
          weir.listen,
        );
      }
      await serves();
      expect(stranger.received.filter(({ message }) => message.status >= 200)).toEqual([]);
    },
  );

  it("ends in order while the engine is away", async () => {
    await engine.start();
    await weir.ready();
    await engine.kill();
    await notReady();
    weir.signal("SIGTERM");
    expect(await weir.exited()).toBe(0);
  });
});
