import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect as connectTcp, type Socket } from "node:net";
import { type ConnectionOptions, connect, createServer, type TLSSocket, type TlsOptions } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TlsPeer, type TlsSettings, withoutTls } from "../../src/engine/transport/tls-settings.ts";
import type { Target } from "../../src/engine/transport/transport.ts";
import { CertificateAuthority, type Issued } from "../support/certificate-authority.ts";
import { eventually } from "../support/eventually.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { PemDirectory } from "../support/pem-directory.ts";
import { atEnd, flowTo, options, station, tls } from "./engine-transport-support.ts";

const authority = new CertificateAuthority();
const other = new CertificateAuthority("Somebody Else's Authority");
const loopback = "127.0.0.1";
const directory = new PemDirectory();
let settings: TlsSettings;

beforeAll(() => {
  settings = {
    ...withoutTls,
    ...directory.write("weir", authority.issue({ names: ["weir.example", loopback] }), authority),
  };
});
afterAll(() => directory.remove());

const pem = ({ certificate, key }: Issued) => ({ cert: certificate, key, ca: authority.certificate });

interface Remote<S extends Socket = Socket> {
  readonly socket: S;
  text: string;
  error: string;
  closed: boolean;
}

/** What comes over a socket, and how it ends. */
function watch<S extends Socket>(socket: S): Remote<S> {
  const remote: Remote<S> = { socket, text: "", error: "", closed: false };
  socket.on("data", (bytes) => {
    remote.text += bytes.toString("latin1");
  });
  socket.on("error", (error) => {
    remote.error = error.message;
  });
  socket.on("close", () => {
    remote.closed = true;
  });
  atEnd(() => socket.destroy());
  return remote;
}

const dial = (port: number, more: ConnectionOptions = {}): Remote<TLSSocket> =>
  watch(connect({ host: loopback, port, ca: authority.certificate, ...more }));

/** A TLS server that keeps what it gets. */
async function server(issued: Issued, more: TlsOptions = {}) {
  const remotes: Remote<TLSSocket>[] = [];
  const listening = createServer({ ...pem(issued), ...more }, (socket) => remotes.push(watch(socket)));
  listening.listen(0, loopback);
  await once(listening, "listening");
  atEnd(() => listening.close());
  const { port } = listening.address() as { port: number };
  return { port, remotes, target: { protocol: "tls", address: loopback, port } satisfies Target };
}

/** How the way to this server fails. */
async function failure(tlsSettings: TlsSettings, target: Target): Promise<string> {
  const here = await station([tls], { tls: tlsSettings });
  const errors: Error[] = [];
  const flow = flowTo(here.transports, target);
  flow.onFailure((error) => errors.push(error));
  flow.send(options("x"));
  await eventually("the failure", () => errors.length > 0);
  expect(here.transports.counters.connections).toBe(0);
  return errors[0]?.message ?? "";
}

describe("a TLS listener", () => {
  it("takes messages and answers by the same connection", async () => {
    const here = await station([tls], {
      tls: settings,
      handle: (message, flow) => flow.send(options(`re-${message.callId}`)),
    });
    const there = dial(here.at(0).port);
    there.socket.write(options("a") + options("b"));
    await eventually("two answers", () => there.text === options("re-a") + options("re-b"));
    expect(here.arrived[0]?.flow).toMatchObject({ protocol: "tls", reliable: true, localPort: here.at(0).port });
    expect(there.socket.getProtocol()).toBe("TLSv1.3");
  });

  it("speaks TLS 1.2 and nothing older", async () => {
    const here = await station([tls], { tls: settings });
    const old = dial(here.at(0).port, { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" });
    await eventually("the end", () => old.closed);
    const there = dial(here.at(0).port, { maxVersion: "TLSv1.2" });
    await once(there.socket, "secureConnect");
    expect(old.error).toContain("protocol version");
    expect(here.transports.counters).toMatchObject({ connections: 1, handshakesFailed: 1 });
  });

  for (const [what, bytes] of [
    ["SIP in the clear", options("x")],
    ["noise", "\x16\x03\x01\xff\xff\x00\x00garbage without end"],
  ] as const) {
    it(`closes a connection that carries ${what}`, async () => {
      const here = await station([tls], { tls: settings });
      const there = watch(connectTcp(here.at(0).port, loopback));
      there.socket.write(bytes, "latin1");
      await eventually("the end", () => there.closed);
      await eventually("its place free", () => here.transports.counters.connections === 0);
      expect(here.transports.counters.handshakesFailed).toBe(1);
      expect(here.arrived).toHaveLength(0);
    });
  }

  it("closes a connection whose handshake takes longer than 4 s, and leaves no timer", async () => {
    const clock = new ManualClock();
    const here = await station([tls], { clock, tls: settings });
    const there = watch(connectTcp(here.at(0).port, loopback));
    await eventually("the connection", () => here.transports.counters.connections === 1);
    clock.advance(3_999);
    expect(there.closed).toBe(false);
    clock.advance(1);
    await eventually("the end", () => there.closed);
    await eventually("its place free", () => here.transports.counters.connections === 0);
    expect(clock.pending).toBe(0);
  });

  it("counts handshakes under way against the connections of a source", async () => {
    const here = await station([tls], { tls: settings, limits: { connectionsPerSource: 1 } });
    const first = watch(connectTcp(here.at(0).port, loopback));
    await eventually("the first", () => here.transports.counters.connections === 1);
    const second = dial(here.at(0).port);
    await eventually("the refusal", () => second.closed);
    expect(first.closed).toBe(false);
    expect(here.transports.counters).toMatchObject({ connections: 1, connectionsRefused: 1 });
  });

  it("asks for no certificate by default", async () => {
    const here = await station([tls], { tls: settings });
    const there = dial(here.at(0).port);
    there.socket.write(options("a"));
    await eventually("the message", () => here.arrived.length === 1);
  });

  it("that requires certificates takes peers with one of the authority alone", async () => {
    const here = await station([tls], { tls: { ...settings, clientCertificate: "require" } });
    const known = dial(here.at(0).port, pem(authority.issue({ names: ["a.example"] })));
    known.socket.write(options("known"));
    await eventually("the message", () => here.arrived.length === 1);
    for (const more of [{}, pem(other.issue({ names: ["a.example"] }))]) {
      const stranger = dial(here.at(0).port, { ...more, ca: authority.certificate });
      stranger.socket.write(options("stranger"));
      await eventually("the end", () => stranger.closed);
    }
    expect(here.arrived.map(({ message }) => message.callId)).toEqual(["known"]);
    await eventually("their places free", () => here.transports.counters.connections === 1);
  });

  it("that only requests certificates takes peers without one too", async () => {
    const here = await station([tls], { tls: { ...settings, clientCertificate: "request" } });
    const there = dial(here.at(0).port);
    there.socket.write(options("a"));
    await eventually("the message", () => here.arrived.length === 1);
  });

  it("drops handshakes and connections when it stops", async () => {
    const clock = new ManualClock();
    const here = await station([tls], { clock, tls: settings });
    const shaking = watch(connectTcp(here.at(0).port, loopback));
    const up = dial(here.at(0).port);
    await once(up.socket, "secureConnect");
    await eventually("both", () => here.transports.counters.connections === 2);
    await here.transports.stop();
    await eventually("the ends", () => shaking.closed && up.closed);
    expect(clock.pending).toBe(0);
  });
});

describe("the certificate of a TLS listener", () => {
  it("is read again when its files change; what is up stays up, and what does not fit is not taken", async () => {
    const clock = new ManualClock();
    const warnings: string[] = [];
    const first = authority.issue({ names: [loopback, "first.example"] });
    const files = directory.write("changing", first, authority);
    const here = await station([tls], {
      clock,
      tls: { ...withoutTls, ...files },
      warn: (detail) => warnings.push(JSON.stringify(detail)),
    });
    const namesShown = async () => {
      const there = dial(here.at(0).port);
      await once(there.socket, "secureConnect");
      return { there, names: there.socket.getPeerCertificate().subjectaltname };
    };
    /** Time passes until the change is seen: the files are looked at by the system's clock. */
    const seen = (what: string, done: () => boolean) =>
      eventually(what, () => {
        clock.advance(1_000);
        return done();
      });
    const { there, names } = await namesShown();
    expect(names).toContain("first.example");
    // Once a message is through, the handshake is over for both sides, and time may pass.
    there.socket.write(options("before"));
    await eventually("the message", () => here.arrived.length === 1);

    const second = authority.issue({ names: [loopback, "second.example"] });
    writeFileSync(files.certificate, second.certificate);
    await seen("a warning", () => warnings.length > 0);
    expect(warnings[0]).toContain("is not the key of");
    expect((await namesShown()).names, "the key is still the old one").toContain("first.example");
    writeFileSync(files.key, second.key);
    await seen("the change", () => here.transports.counters.certificatesReplaced === 1);
    expect(here.transports.counters.certificateExpiryTimestampSeconds).toBeGreaterThan(Date.now() / 1_000);
    expect((await namesShown()).names).toContain("second.example");

    there.socket.write(options("after"));
    await eventually("the message", () => here.arrived.length === 2);
  });
});

describe("a TLS flow to a peer", () => {
  const peerAt = (port: number, name: string, verify = true) => ({
    ...settings,
    peers: [{ name, address: loopback, port, verify }],
  });

  it("is one connection for all, and what the peer sends on it arrives", async () => {
    const here = await station([tls], { tls: settings });
    const there = await server(authority.issue({ names: [loopback] }));
    const flow = flowTo(here.transports, there.target);
    flow.send(options("a"));
    expect(flowTo(here.transports, there.target)).toBe(flow);
    await eventually("the message", () => there.remotes[0]?.text === options("a"));
    there.remotes[0]?.socket.write(options("back"));
    await eventually("the answer", () => here.arrived.length > 0);
    expect(here.arrived[0]?.flow).toBe(flow);
  });

  it("asks for the peer's name, and is content with its name or its address in the certificate", async () => {
    for (const names of [["carrier.example"], [loopback], ["sip:carrier.example"]]) {
      const asked: unknown[] = [];
      const issued = authority.issue({ names });
      const there = await server(issued, {
        SNICallback: (name, done) => {
          asked.push(name);
          done(null);
        },
      });
      const here = await station([tls], { tls: peerAt(there.port, "carrier.example") });
      flowTo(here.transports, there.target).send(options("a"));
      await eventually("the message", () => there.remotes[0]?.text === options("a"));
      expect(asked).toEqual(["carrier.example"]);
    }
  });

  it("takes the name that the address was found by", async () => {
    const there = await server(authority.issue({ names: ["found.example"] }));
    const here = await station([tls], { tls: settings });
    flowTo(here.transports, { ...there.target, name: "found.example" }).send(options("a"));
    await eventually("the message", () => there.remotes[0]?.text === options("a"));
  });

  it("is the same, and as careful, when the address alone is told that a peer's name has led to", async () => {
    const there = await server(authority.issue({ names: ["carrier.example"] }));
    const here = await station([tls], {
      tls: { ...settings, peers: [{ name: "carrier.example", address: "", port: 0, verify: true }] },
    });
    const flow = flowTo(here.transports, { ...there.target, name: "carrier.example" });
    flow.send(options("a"));
    expect(flowTo(here.transports, there.target)).toBe(flow);
    await eventually("the message", () => there.remotes.length === 1);
    there.remotes[0]?.socket.destroy();
    await eventually("the end", () => here.transports.counters.connections === 0);
    flowTo(here.transports, there.target).send(options("b"));
    await eventually("the next message", () => there.remotes[1]?.text === options("b"));
  });

  it("takes another port of a peer's address, as its Contact may have, for the same peer", async () => {
    const tlsSettings = peerAt(1, "carrier.example");
    const here = await station([tls], { tls: tlsSettings });
    const there = await server(authority.issue({ names: ["carrier.example"] }));
    flowTo(here.transports, there.target).send(options("a"));
    await eventually("the message", () => there.remotes[0]?.text === options("a"));
    const thief = await server(authority.issue({ names: ["thief.example"] }));
    expect(await failure(tlsSettings, thief.target)).toContain("not for carrier.example");
  });

  it("is the connection that the peer opened, for requests to the very port that this is from", async () => {
    const here = await station([tls], { tls: peerAt(1, "carrier.example") });
    const there = dial(here.at(0).port);
    there.socket.write(options("hello"));
    await eventually("the message", () => here.arrived.length > 0);
    const target: Target = { protocol: "tls", address: loopback, port: there.socket.localPort ?? 0 };
    expect(flowTo(here.transports, target)).toBe(here.arrived[0]?.flow);
  });

  it("fails where the certificate is for another name, and says for which", async () => {
    const there = await server(authority.issue({ names: ["other.example"] }));
    expect(await failure(peerAt(there.port, "carrier.example"), there.target)).toBe(
      "TLS: the certificate is for DNS:other.example, not for carrier.example or 127.0.0.1",
    );
  });

  it("fails where the certificate has expired", async () => {
    const there = await server(authority.issue({ names: [loopback], to: new Date(Date.now() - 1_000) }));
    expect(await failure(settings, there.target)).toBe("TLS: certificate has expired");
  });

  it("fails where nobody knows the authority", async () => {
    const there = await server(other.issue({ names: [loopback] }));
    expect(await failure(settings, there.target)).toBe("TLS: unable to verify the first certificate");
  });

  it("does not look at the certificate of a peer whose check is off, nor at any where that is off for all", async () => {
    const there = await server(other.issue({ names: ["x"], to: new Date(Date.now() - 1_000) }));
    for (const careless of [peerAt(there.port, "carrier.example", false), { ...settings, verify: false }]) {
      const here = await station([tls], { tls: careless });
      flowTo(here.transports, there.target).send(options("a"));
      await eventually("the message", () => there.remotes.at(-1)?.text === options("a"));
    }
  });

  it("looks at the certificate where one of several peers at an address and port wants it, in whatever order they stand", async () => {
    const there = await server(other.issue({ names: ["x"] }));
    const both = [true, false].map((verify) => peerAt(there.port, `verify-${verify}.example`, verify).peers[0]);
    for (const peers of [both, [...both].reverse()] as TlsPeer[][]) {
      expect(await failure({ ...settings, peers }, there.target)).toBe("TLS: unable to verify the first certificate");
    }
  });

  it("shows our certificate to a peer that requires one", async () => {
    const there = await server(authority.issue({ names: [loopback] }), { requestCert: true });
    const here = await station([tls], { tls: settings });
    flowTo(here.transports, there.target).send(options("a"));
    await eventually("the message", () => there.remotes[0]?.text === options("a"));
    expect(there.remotes[0]?.socket.getPeerCertificate().subjectaltname).toContain("weir.example");
  });

  it("fails where the peer does not like our certificate", async () => {
    const there = await server(authority.issue({ names: [loopback] }), { requestCert: true, ca: other.certificate });
    expect(await failure(settings, there.target)).toBe(`127.0.0.1 port ${there.port} closed the connection`);
  });

  it("fails where the peer speaks something else", async () => {
    const here = await station([{ ...tls, protocol: "tcp" }]);
    expect(await failure(settings, { ...here.at(0), protocol: "tls" })).not.toBe("");
  });

  it("is given up when the handshake does not come to an end in 4 s", async () => {
    const clock = new ManualClock();
    const silent = await station([{ ...tls, protocol: "tcp" }]);
    const here = await station([tls], { clock, tls: settings });
    const errors: Error[] = [];
    const { port } = silent.at(0);
    const flow = flowTo(here.transports, { ...silent.at(0), protocol: "tls" });
    flow.onFailure((error) => errors.push(error));
    clock.advance(4_000);
    await eventually("the failure", () => errors.length > 0);
    expect(errors[0]?.message).toBe(`127.0.0.1 port ${port} did not answer in time`);
    expect(clock.pending).toBe(0);
  });

  it("is the connection that the peer opened, if it offers that and its certificate is that of what listens there", async () => {
    const via = (port: number) => ({ via: `SIP/2.0/TLS ${loopback}:${port};alias;branch=z9hG4bKx` });
    const there = await server(authority.issue({ names: ["carrier.example"] }));
    for (const [what, issued, alias] of [
      ["the peer's own", authority.issue({ names: ["carrier.example"] }), true],
      ["somebody else's", authority.issue({ names: ["thief.example"] }), false],
      ["none", undefined, false],
    ] as const) {
      const tlsSettings = { ...peerAt(there.port, "carrier.example"), clientCertificate: "request" } as const;
      const here = await station([tls], { tls: tlsSettings });
      const caller = dial(here.at(0).port, issued && pem(issued));
      caller.socket.write(options("ask", via(there.port)));
      await eventually("the request", () => here.arrived.length === 1);
      const flow = flowTo(here.transports, there.target);
      expect(flow === here.arrived[0]?.flow, `certificate: ${what}`).toBe(alias);
      caller.socket.destroy();
      await eventually("the end", () => flow !== here.arrived[0]?.flow || here.transports.counters.connections === 0);
      expect(flowTo(here.transports, there.target)).not.toBe(here.arrived[0]?.flow);
    }
  });
});
