import { describe, expect, it } from "vitest";
import { hopsLeft, inviteFor, relayedReply } from "../../src/calls/headers.ts";
import { candidateOf, hopOfAddress, type NextHop } from "../../src/calls/next-hop.ts";
import type { Headers } from "../../src/signalling/port.ts";
import { AgentBench } from "../support/agents.ts";
import { FakeRequest } from "../support/fake-signalling.ts";

const hop = { name: "a", address: "192.0.2.1:5071", transport: "" };

const invite = (headers: Headers = {}, uri = "sip:100@127.0.0.2", to: NextHop = hop) =>
  inviteFor(new FakeRequest("INVITE", { uri, headers: { from: "<sip:a@h>;tag=1", to: "<sip:b@h>", ...headers } }), {
    hop: to,
  });

const response = (status: number, headers: Headers = {}) =>
  relayedReply({ status, reason: "R", headers, body: "", dialogId: "", reliable: false, ack() {} });

describe("the INVITE to an agent", () => {
  it("carries what is end-to-end", () => {
    const endToEnd = {
      "p-asserted-identity": "<sip:+44@example.com>",
      privacy: "id",
      Diversion: "<sip:d@x>;reason=unconditional",
      "history-info": "<sip:h@x>;index=1",
      identity: "abc",
      "X-Custom": "One",
      reason: "Q.850;cause=1",
      "session-expires": "1800",
      allow: "INVITE",
      supported: "timer",
      require: "timer",
      "proxy-authorization": 'Digest username="x"',
      "content-type": "application/sdp",
    };
    expect(invite(endToEnd).headers).toMatchObject(endToEnd);
  });

  it("carries nothing of the caller's own leg", () => {
    const { headers } = invite({
      via: "SIP/2.0/UDP 127.0.0.31",
      "record-route": "<sip:p1>",
      route: "<sip:p2>",
      "call-id": "theirs",
      cseq: "1 INVITE",
      path: "<sip:p3>",
      rseq: "1",
      "content-length": "3",
    });
    expect(Object.keys(headers).sort()).toEqual(["from", "max-forwards", "to"]);
  });

  it.each([
    ['"Alice" <sip:alice@127.0.0.31:5060;user=phone>;tag=x', '"Alice" <sip:alice@localhost;user=phone>'],
    ["sip:alice@127.0.0.31;tag=x", "<sip:alice@localhost>"],
    ["<sip:127.0.0.31>;tag=x", "<sip:localhost>"],
    ["<sip:a@h;transport=tcp;maddr=10.0.0.1>;tag=x", "<sip:a@localhost>"],
    ["<sips:a:secret@h>;tag=x", "<sip:a:secret@localhost>"],
    ["<tel:+4420>;tag=x", "<tel:+4420>"],
    ['"Anonymous" <sip:anonymous@anonymous.invalid>;tag=x', '"Anonymous" <sip:anonymous@anonymous.invalid>'],
  ])("rewrites From %s as %s", (from, expected) => {
    expect(invite({ from }).headers.from).toBe(expected);
  });

  it("goes to the agent's address in Request-URI and To, users kept", () => {
    const { uri, headers } = invite(
      { to: '"Bob" <sip:+44201@127.0.0.2;user=phone>' },
      "sip:200;x=1@127.0.0.2:5060;user=phone",
    );
    expect(uri).toBe("sip:200;x=1@192.0.2.1:5071;user=phone");
    expect(headers.to).toBe('"Bob" <sip:+44201@192.0.2.1:5071;user=phone>');
    expect(invite({}, "tel:+4420;phone-context=x").uri).toBe("sip:+4420;phone-context=x@192.0.2.1:5071;user=phone");
  });

  it("asks for reliable provisional responses instead of requiring them, as PRACK is settled on each leg", () => {
    expect(invite({ require: "100rel, timer", supported: "replaces" }).headers).toMatchObject({
      require: "timer",
      supported: "replaces, 100rel",
    });
    expect(invite({ require: "100rel" }).headers).not.toHaveProperty("require");
  });

  it("keeps the user of the Contact, at our address", () => {
    expect(invite({ contact: '"A" <sip:alice@127.0.0.31:5060;ob>' }).headers.contact).toBe("<sip:alice@localhost>");
    expect(invite({ contact: "<sip:127.0.0.31>" }).headers).not.toHaveProperty("contact");
  });
});

describe("hops", () => {
  it.each([
    ["70", 69],
    ["1", 0],
    ["0", -1],
    [undefined, 69],
  ])("Max-Forwards %s leaves %i", (value, left) => {
    expect(hopsLeft(value === undefined ? {} : { "max-forwards": value })).toBe(left);
  });
});

describe("a response passed on", () => {
  it("keeps its reason and what is end-to-end, and nothing of the agent's leg", () => {
    const { reason, headers } = response(180, {
      "alert-info": "<x>",
      contact: "<sip:agent@192.0.2.1>",
      "record-route": "<sip:p>",
      require: "100rel",
      rseq: "1",
    });
    expect({ reason, headers }).toEqual({ reason: "R", headers: { "alert-info": "<x>" } });
  });

  it.each([
    [302, true],
    [485, true],
    [200, false],
    [404, false],
  ])("with %i keeps the Contact: %s", (status, kept) => {
    expect("contact" in response(status, { contact: "<sip:elsewhere@x>" }).headers).toBe(kept);
  });
});

describe("a next hop", () => {
  it.each([
    ["192.0.2.9", "192.0.2.9", ""],
    ["192.0.2.9:5080", "192.0.2.9:5080", ""],
    ["sip:192.0.2.9;transport=TCP", "192.0.2.9", ";transport=tcp"],
    ["[2001:db8::1]:5062", "[2001:db8::1]:5062", ""],
  ])("%s is %s%s", (configured, address, transport) => {
    expect(hopOfAddress(configured)).toEqual({ name: configured, address, transport });
  });

  it("is asked by a SIPS URI where it is one", () => {
    const hop = hopOfAddress("sips:192.0.2.9");
    expect(hop).toEqual({ name: "sips:192.0.2.9", address: "192.0.2.9", transport: ";transport=tls", secure: true });
    const { uri, headers } = invite({ contact: "<sip:caller@h>" }, "sip:100@127.0.0.2", hop);
    expect([uri, headers.contact]).toEqual(["sips:100@192.0.2.9", "<sips:caller@localhost>"]);
  });

  it("is an agent's address and transport, or its name without an address", () => {
    const hopOf = (params: object) => {
      const { agent } = new AgentBench(params);
      const admission = agent.admit({ direction: "outbound", method: "INVITE" });
      if (!admission.admitted) throw new Error("refused");
      return candidateOf({ kind: "agent", agent, lease: admission.lease, policy: 0 }).hop;
    };
    expect(hopOf({ "ip-address": "2001:db8::2", port: 5071, "transport-method": "TCP" })).toEqual({
      name: "carrier-a",
      address: "[2001:db8::2]:5071",
      transport: ";transport=tcp",
    });
    expect(hopOf({ "ip-address": "", hostname: "sbc.example.com" }).address).toBe("sbc.example.com:5060");
  });
});
