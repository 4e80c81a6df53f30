import { once } from "node:events";
import { createServer } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { onDrachtio } from "../support/external-engine.ts";
import { Holder } from "../support/held-call.ts";
import { type Arrival, RawConnection, RawUa } from "../support/raw-ua.ts";
import { byeAfter, RawCall, responseTo, SipText } from "../support/sip-text.ts";
import { Weir } from "../support/weir.ts";

describe("a peer that does what few do", () => {
  let weir: Weir;
  let agent: RawUa | undefined;

  beforeAll(async () => {
    weir = await Weir.start({
      agents: { carrier: {}, "carrier-tcp": { "transport-method": "TCP" } },
      routes: { "100": ["carrier"], "200": ["carrier-tcp"] },
      t1: 100,
    });
  });
  afterEach(async () => {
    await weir.idle(20_000);
    agent?.close();
    agent = undefined;
  });
  afterAll(() => weir?.stop());

  const reply = (ua: RawUa, { message, from }: Arrival, status: number, reason: string, tag?: string) => {
    const text = responseTo(message, status, reason, ua.local);
    ua.send(tag ? text.replace(/(^To:.*;tag=)\S+/m, `$1${tag}`) : text, from);
  };
  /** An agent that does this with an INVITE and answers all else with 200. */
  const agentThat = async (invited: (arrival: Arrival, ua: RawUa) => void) => {
    agent = await RawUa.open(weir.agent("carrier"), (arrival, ua) => {
      const { method, status } = arrival.message;
      if (status !== 0 || method === "ACK") return;
      if (method === "INVITE") invited(arrival, ua);
      else reply(ua, arrival, 200, "OK");
    });
    return agent;
  };

  it("answers twice with different tags: the second answer is acknowledged and hung up on (RFC 3261 13.2.2.4)", async ({
    skip,
  }) => {
    skip(onDrachtio, "drachtio-server drops a second answer");
    const carrier = await agentThat((arrival, ua) => {
      reply(ua, arrival, 200, "OK", "first");
      reply(ua, arrival, 200, "OK", "second");
    });
    const caller = await Holder.at(weir);
    expect((await caller.call("100")).status).toBe(200);
    await carrier.receive("BYE to the second", (m) => m.method === "BYE" && m.header("To").endsWith("tag=second"));
    await carrier.receive("ACK to the second", (m) => m.method === "ACK" && m.header("To").endsWith("tag=second"));
    await carrier.receive("ACK to the first", (m) => m.method === "ACK" && m.header("To").endsWith("tag=first"));
    expect(
      carrier.received.filter(({ message: m }) => m.method === "BYE" && m.header("To").endsWith("tag=first")),
    ).toEqual([]);
    await weir.sessions("carrier", "outbound", 1);
    await caller.close();
  });

  it("has a From of a kilobyte: it passes, and the agent stays in service", async () => {
    const carrier = await agentThat((arrival, ua) => reply(ua, arrival, 486, "Busy Here"));
    const caller = await RawUa.open(await weir.caller());
    const call = new RawCall(caller.local, weir.listen, "100");
    const display = `"${"long name ".repeat(100)}"`;
    caller.send(call.invite().replace(/^From: /m, `From: ${display} `), weir.listen);
    const busy = await caller.final(call.callId);
    caller.send(call.ack(busy), weir.listen);
    expect(busy.status).toBe(486);
    const from = carrier.received.find(({ message }) => message.method === "INVITE")?.message.header("From");
    expect(from?.startsWith(`${display} <sip:raw@${weir.listen.address}`)).toBe(true);
    expect((await weir.view("carrier")).state.letter).toBe("I");
    caller.close();
  });

  it("sends a body of 8 kB that is no text: it passes untouched", async ({ skip }) => {
    skip(onDrachtio, "what comes over TCP reaches Weir decoded as UTF-8");
    const body = Array.from({ length: 8_192 }, (_, at) => String.fromCharCode((at * 7) % 256)).join("");
    const carrier = await agentThat((arrival, ua) => reply(ua, arrival, 486, "Busy Here"));
    const ua = await RawUa.open(await weir.caller());
    const call = new RawCall(ua.local, weir.listen, "100");
    const [head = ""] = call.invite().split("\r\n\r\n");
    ua.send(`${head.replace(/Content-Length: \d+/, `Content-Length: ${body.length}`)}\r\n\r\n${body}`, weir.listen);
    const final = await ua.final(call.callId);
    ua.send(call.ack(final), weir.listen);
    expect(final.status).toBe(486);
    expect((await carrier.receive("the INVITE", (m) => m.method === "INVITE")).body === body).toBe(true);
    ua.close();
  });

  it("uses one Call-ID for two calls: CANCEL ends the one that it is for, and then the other", async ({ skip }) => {
    skip(onDrachtio, "drachtio-srf knows one INVITE under each Call-ID");
    const carrier = await agentThat((arrival, ua) => reply(ua, arrival, 180, "Ringing", "ringing"));
    const ua = await RawUa.open(await weir.caller());
    const first = new RawCall(ua.local, weir.listen, "100");
    const second = new RawCall(ua.local, weir.listen, "100", "UDP", first.callId);
    const finalOf = ({ fromTag, branch }: RawCall) =>
      ua.receive(
        "487",
        (m) => m.status === 487 && m.header("From").includes(fromTag) && m.header("Via").includes(branch),
      );
    const cancels = () => carrier.received.filter(({ message: m }) => m.method === "CANCEL");
    const invites = () => carrier.received.filter(({ message: m }) => m.method === "INVITE" && m.status === 0);
    for (const [n, call] of [first, second].entries()) {
      ua.send(call.invite(), weir.listen);
      await ua.receive("180", (m) => m.status === 180 && m.header("From").includes(call.fromTag));
      expect(invites()).toHaveLength(n + 1);
    }
    for (const [n, call] of [first, second].entries()) {
      ua.send(call.cancel(), weir.listen);
      ua.send(call.ack(await finalOf(call)), weir.listen);
      const cancel = await eventually("CANCEL at the agent", () => cancels()[n]);
      const invite = invites()[n] as Arrival;
      expect(cancel.message.header("Call-ID")).toBe(invite.message.header("Call-ID"));
      reply(carrier, invite, 487, "Request Terminated", "ringing");
    }
    await weir.idle();
    ua.close();
  });

  it("sends its INVITE three times: that is one call", async () => {
    const carrier = await agentThat((arrival, ua) => setTimeout(() => reply(ua, arrival, 486, "Busy Here"), 50));
    const ua = await RawUa.open(await weir.caller());
    const call = new RawCall(ua.local, weir.listen, "100");
    for (let times = 0; times < 3; times++) ua.send(call.invite(), weir.listen);
    ua.send(call.ack(await ua.final(call.callId)), weir.listen);
    await weir.idle();
    const branches = carrier.received
      .filter(({ message }) => message.method === "INVITE")
      .map(({ message }) => message.header("Via"));
    expect(new Set(branches).size).toBe(1);
    ua.close();
  });

  it("never acknowledges a refusal: it is sent again for a while, and costs no session meanwhile", async () => {
    await agentThat((arrival, ua) => reply(ua, arrival, 486, "Busy Here"));
    const ua = await RawUa.open(await weir.caller());
    const call = new RawCall(ua.local, weir.listen, "100");
    ua.send(call.invite(), weir.listen);
    await ua.final(call.callId);
    await weir.idle(2_000);
    const refusals = () => ua.received.filter(({ message }) => message.status === 486).length;
    await eventually("the refusal sent four times", () => refusals() >= 4);
    ua.close();
  });

  it("closes its TCP connection while it rings: what the agent answers then is hung up on", async () => {
    const carrier = await agentThat((arrival, ua) => {
      reply(ua, arrival, 180, "Ringing");
      setTimeout(() => reply(ua, arrival, 200, "OK"), 500);
    });
    const { address } = await weir.caller();
    const connection = await RawConnection.open(weir.listen, address);
    const call = new RawCall({ address, port: connection.localPort }, weir.listen, "100", "TCP");
    connection.write(call.invite());
    await eventually("ringing", () => connection.received.includes("SIP/2.0 180"));
    connection.close();
    await carrier.receive("BYE", (m) => m.method === "BYE", 20_000);
  });

  const lost = {
    "behind a NAT, whose TCP connection is gone": "<sip:x@192.168.7.7:5060;transport=tcp>",
    "whose Contact names no host that there is": "<sip:x@nowhere.invalid>",
    "whose Contact leads nowhere": "<tel:+4420>",
  };
  for (const [peer, contact] of Object.entries(lost)) {
    it(`never acknowledges the answer, and cannot be hung up on, ${peer}: the call is over all the same`, async ({
      skip,
    }) => {
      skip(onDrachtio, "what drachtio-server does without a way to the caller is its own affair");
      const carrier = await agentThat((arrival, ua) => reply(ua, arrival, 200, "OK"));
      const { address } = await weir.caller();
      const connection = await RawConnection.open(weir.listen, address);
      const call = new RawCall({ address: "192.168.7.7", port: 5060 }, weir.listen, "100", "TCP");
      connection.write(call.invite().replace(/^Contact:.*$/m, `Contact: ${contact}`));
      await eventually("an answer", () => connection.received.includes("SIP/2.0 200"));
      connection.close();
      await carrier.receive("BYE", (m) => m.method === "BYE", 20_000);
    });
  }

  it("cancels its re-INVITE as the 200 to it comes: that is acknowledged, and the call goes on", async ({ skip }) => {
    skip(onDrachtio, "drachtio-server ends the call");
    let again: Arrival | undefined;
    agent = await RawUa.open(weir.agent("carrier"), (arrival, ua) => {
      const { method, status } = arrival.message;
      if (status !== 0 || method === "ACK") return;
      if (method === "INVITE" && arrival.message.header("To").includes("tag=")) {
        again = arrival;
        reply(ua, arrival, 180, "Ringing");
        return;
      }
      if (method === "CANCEL" && again) reply(ua, again, 200, "OK");
      reply(ua, arrival, 200, "OK");
    });
    const carrier = agent;
    const ua = await RawUa.open(await weir.caller());
    const call = new RawCall(ua.local, weir.listen, "100");
    ua.send(call.invite(), weir.listen);
    const answer = await ua.final(call.callId);
    ua.send(call.ack(answer), weir.listen);
    await carrier.receive("ACK", (m) => m.method === "ACK");
    const reInvite = call.request("INVITE", answer);
    ua.send(reInvite, weir.listen);
    await ua.receive("180", (m) => m.status === 180 && m.header("CSeq") === "2 INVITE");
    ua.send(reInvite.replace(/^INVITE /, "CANCEL ").replace("CSeq: 2 INVITE", "CSeq: 2 CANCEL"), weir.listen);
    await ua.receive("487", (m) => m.status === 487 && m.header("CSeq") === "2 INVITE");
    const cseq = again?.message.header("CSeq").replace("INVITE", "ACK");
    await carrier.receive("ACK to the late 200", (m) => m.method === "ACK" && m.header("CSeq") === cseq);
    ua.send(call.request("INFO", answer), weir.listen);
    expect((await ua.receive("an answer to INFO", (m) => m.header("CSeq") === "3 INFO")).status).toBe(200);
    ua.send(call.request("BYE", answer), weir.listen);
    await carrier.receive("BYE", (m) => m.method === "BYE");
    ua.close();
  });

  it("uses the Call-ID and tag of a call that is up for a second one: that is refused, the first goes on", async ({
    skip,
  }) => {
    skip(onDrachtio, "drachtio-server has one dialog id for both");
    const carrier = await agentThat((arrival, ua) => reply(ua, arrival, 200, "OK"));
    const ua = await RawUa.open(await weir.caller());
    const call = new RawCall(ua.local, weir.listen, "100");
    ua.send(call.invite(), weir.listen);
    const answer = await ua.final(call.callId);
    ua.send(call.ack(answer), weir.listen);
    const again = call.invite().replace("CSeq: 1 ", "CSeq: 7 ").replace(call.branch, "z9hG4bK-again");
    ua.send(again, weir.listen);
    expect(
      (await ua.receive("a final to the second", (m) => m.header("CSeq") === "7 INVITE" && m.status >= 200)).status,
    ).toBe(482);
    await weir.sessions("carrier", "outbound", 1);
    ua.send(call.request("BYE", answer), weir.listen);
    await carrier.receive("BYE", (m) => m.method === "BYE");
    ua.close();
  });

  it("closes its TCP connection while the call is up: the agent's BYE still ends the call", async () => {
    const carrier = await agentThat((arrival, ua) => reply(ua, arrival, 200, "OK"));
    const { address } = await weir.caller();
    const connection = await RawConnection.open(weir.listen, address);
    const call = new RawCall({ address, port: connection.localPort }, weir.listen, "100", "TCP");
    connection.write(call.invite());
    await eventually("an answer", () => connection.received.includes("SIP/2.0 200"));
    const answer = new SipText(connection.received.slice(connection.received.indexOf("SIP/2.0 200")));
    connection.write(call.ack(answer));
    const ack = await carrier.receive("ACK", (m) => m.method === "ACK");
    connection.close();
    await weir.sessions("carrier", "outbound", 1);
    carrier.send(byeAfter(ack, carrier.local, weir.listen), weir.listen);
    expect((await carrier.receive("an answer to BYE", (m) => m.method === "BYE" && m.status > 0)).status).toBe(200);
  });

  it("closes its TCP connection after 180: CANCEL reaches it on a new one", async () => {
    const carrier = weir.agent("carrier-tcp");
    const methods: string[] = [];
    const server = createServer((socket) => {
      socket.setEncoding("latin1").on("data", (text: string) => {
        const request = new SipText(text);
        methods.push(request.method);
        if (request.method === "INVITE") socket.end(responseTo(request, 180, "Ringing", carrier));
        if (request.method === "CANCEL") socket.write(responseTo(request, 200, "OK", carrier));
      });
    }).listen(carrier.port, carrier.address);
    try {
      await once(server, "listening");
      const ua = await RawUa.open(await weir.caller());
      const call = new RawCall(ua.local, weir.listen, "200");
      ua.send(call.invite(), weir.listen);
      await ua.receive("180", ({ status }) => status === 180);
      ua.send(call.cancel(), weir.listen);
      expect((await ua.final(call.callId)).status).toBe(487);
      await eventually("CANCEL at the agent", () => methods.includes("CANCEL"));
      expect(methods).toEqual(["INVITE", "CANCEL"]);
      ua.close();
    } finally {
      server.close();
    }
  });
});
