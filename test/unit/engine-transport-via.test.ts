import { describe, expect, it } from "vitest";
import { parseMessage, SipMessage } from "../../src/engine/message/sip-message.ts";
import { bestListener, isListening } from "../../src/engine/transport/addresses.ts";
import { type Flow, stampVia, type Target } from "../../src/engine/transport/transport.ts";
import { flowTo, options, station, udp } from "./engine-transport-support.ts";

function request(via: string): SipMessage {
  const message = parseMessage(options("x", { via }));
  if (message instanceof SipMessage) return message;
  throw new Error(message.reason);
}

describe("stampVia", () => {
  const from = { remoteAddress: "192.0.2.7", remotePort: 40_000 };
  const cases: readonly [what: string, via: string, stamped: string][] = [
    [
      "leaves a Via alone that tells the truth",
      "SIP/2.0/UDP 192.0.2.7:5060;branch=z",
      "SIP/2.0/UDP 192.0.2.7:5060;branch=z",
    ],
    [
      "adds received to another address",
      "SIP/2.0/UDP 10.0.0.1;branch=z",
      "SIP/2.0/UDP 10.0.0.1;branch=z;received=192.0.2.7",
    ],
    ["adds received to a name", "SIP/2.0/UDP host;branch=z", "SIP/2.0/UDP host;branch=z;received=192.0.2.7"],
    [
      "fills in rport and then always adds received",
      "SIP/2.0/UDP 192.0.2.7;rport;branch=z",
      "SIP/2.0/UDP 192.0.2.7;rport=40000;branch=z;received=192.0.2.7",
    ],
    [
      "believes no received and no rport that the sender put in",
      "SIP/2.0/UDP 192.0.2.7;received=6.6.6.6;rport=1",
      "SIP/2.0/UDP 192.0.2.7;received=192.0.2.7;rport=40000",
    ],
  ];
  for (const [what, via, stamped] of cases) {
    it(what, () => {
      expect(stampVia(request(via), from)).toBe(stamped);
    });
  }

  it("compares IPv6 addresses, not their spelling, and writes received without brackets", () => {
    const six = { remoteAddress: "2001:db8::1", remotePort: 5060 };
    const same = "SIP/2.0/UDP [2001:DB8:0::1];branch=z";
    expect(stampVia(request(same), six)).toBe(same);
    expect(stampVia(request("SIP/2.0/UDP [2001:db8::2]"), six)).toBe("SIP/2.0/UDP [2001:db8::2];received=2001:db8::1");
  });
});

describe("the way back of a response over UDP", () => {
  async function wayBack(via: string): Promise<Pick<Flow, "remoteAddress" | "remotePort">> {
    const { transports } = await station([udp]);
    const flow = flowTo(transports, { protocol: "udp", address: "127.0.0.9", port: 40_000 });
    const { remoteAddress, remotePort } = transports.responseFlow(request(via), flow);
    return { remoteAddress, remotePort };
  }

  it("is the source address with the port in the Via", async () => {
    expect(await wayBack("SIP/2.0/UDP 10.0.0.1:5099")).toEqual({ remoteAddress: "127.0.0.9", remotePort: 5_099 });
    expect(await wayBack("SIP/2.0/UDP 10.0.0.1")).toEqual({ remoteAddress: "127.0.0.9", remotePort: 5_060 });
  });

  it("is the source address and port when rport was asked for", async () => {
    expect(await wayBack("SIP/2.0/UDP 10.0.0.1:5099;rport")).toEqual({
      remoteAddress: "127.0.0.9",
      remotePort: 40_000,
    });
  });

  it("is maddr when the Via has a numeric one", async () => {
    expect(await wayBack("SIP/2.0/UDP 10.0.0.1:5099;rport;maddr=127.0.0.8")).toEqual({
      remoteAddress: "127.0.0.8",
      remotePort: 5_099,
    });
    expect(await wayBack("SIP/2.0/UDP 10.0.0.1:5099;maddr=name")).toEqual({
      remoteAddress: "127.0.0.9",
      remotePort: 5_099,
    });
  });
});

describe("choosing among listeners", () => {
  const at = (address: string): Target => ({ protocol: "udp", address, port: 5060 });

  it("prefers loopback for loopback peers, another for others, then a wildcard, then the first of the family", () => {
    const both = [at("192.0.2.1"), at("127.0.0.1"), at("::1")];
    expect(bestListener(both, "127.0.0.5")?.address).toBe("127.0.0.1");
    expect(bestListener(both, "198.51.100.1")?.address).toBe("192.0.2.1");
    expect(bestListener(both, "2001:db8::1")?.address).toBe("::1");
    expect(bestListener([at("192.0.2.1"), at("0.0.0.0")], "127.0.0.5")?.address).toBe("0.0.0.0");
    expect(bestListener([at("192.0.2.1")], "127.0.0.5")?.address).toBe("192.0.2.1");
    expect(bestListener([at("192.0.2.1")], "::1")).toBeUndefined();
  });

  it("knows its own addresses, in any spelling, and localhost", () => {
    const listeners = [at("127.0.0.1"), at("::1")];
    expect(isListening(listeners, "127.0.0.1", 5060)).toBe(true);
    expect(isListening(listeners, "127.0.0.1", 5061)).toBe(false);
    expect(isListening(listeners, "0:0::1", 5060)).toBe(true);
    expect(isListening(listeners, "localhost", 5060)).toBe(true);
    expect(isListening([at("192.0.2.1")], "localhost", 5060)).toBe(false);
    expect(isListening(listeners, "example.com", 5060)).toBe(false);
  });
});
