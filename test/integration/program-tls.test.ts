import { once } from "node:events";
import { createServer } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { CertificateAuthority, type Issued, type Wanted } from "../support/certificate-authority.ts";
import { DnsServer } from "../support/dns-server.ts";
import { eventually } from "../support/eventually.ts";
import { onDrachtio } from "../support/external-engine.ts";
import { Holder } from "../support/held-call.ts";
import { type Endpoint, freePort, Loopback } from "../support/loopback.ts";
import { PemDirectory } from "../support/pem-directory.ts";
import { answeringAgent, RawConnection } from "../support/raw-ua.ts";
import { TlsAgent, TlsCaller } from "../support/tls-ua.ts";
import { Weir } from "../support/weir.ts";

const authority = new CertificateAuthority();
const strange = new CertificateAuthority("Unknown Authority");
const files = new PemDirectory();
const ours = () => authority.issue({ names: ["weir.example"] });
const pem = ({ certificate, key }: Issued) => ({ cert: certificate, key, ca: authority.certificate });
/** What callers make of Weir's certificate. */
const trusting: ConnectionOptions = { ca: authority.certificate, servername: "weir.example" };

interface Closable {
  close(): unknown;
}

describe.skipIf(onDrachtio)("SIP over TLS", () => {
  let weir: Weir;
  let dns: DnsServer;
  /** Where DNS says that `named.example` is. */
  let named: Endpoint;
  let open: Closable[] = [];
  const kept = <T extends Closable>(closable: T): T => {
    open.push(closable);
    return closable;
  };
  const agentOnTls = async (hostname: string, wanted: Wanted, by = authority) =>
    kept(await TlsAgent.at(weir.agent(hostname), pem(by.issue(wanted))));
  const caller = async (options = trusting) => kept(await TlsCaller.connect(weir.listenTls, options));

  beforeAll(async () => {
    const address = new Loopback().address(11);
    named = { address, port: await freePort(address) };
    dns = await DnsServer.start({
      "_sips._tcp.named.example": [{ type: "SRV", value: [10, 10, named.port, "edge.named.example"] }],
      "edge.named.example": [{ type: "A", value: address }],
    });
    const overTls = { "transport-method": "TLS" };
    weir = await Weir.start({
      agents: {
        plain: {},
        "carrier.example": overTls,
        "wrong.example": overTls,
        "expired.example": overTls,
        "unknown.example": overTls,
        "silent.example": overTls,
        "named.example": { ...overTls, "ip-address": "", port: 0 },
        "careless.example": { ...overTls, "tls-verify": "disabled" },
      },
      routes: {
        "100": ["plain"],
        "200": ["carrier.example"],
        "301": ["wrong.example", "plain"],
        "302": ["expired.example", "plain"],
        "303": ["unknown.example", "plain"],
        "304": ["silent.example", "plain"],
        "500": ["named.example"],
        "400": ["careless.example"],
      },
      tls: files.write("weir", ours(), authority),
      more: { dns: { servers: [dns.address] } },
    });
  });
  afterEach(async () => {
    for (const each of open) await each.close();
    open = [];
    await weir.idle();
  });
  afterAll(async () => {
    await weir?.stop();
    dns?.close();
    files.remove();
  });

  it("carries a call from TLS to UDP", async () => {
    const agent = kept(await answeringAgent(weir.agent("plain")));
    const from = await caller();
    const call = await from.call("100");
    expect(call.final.status).toBe(200);
    expect(call.final.header("Contact")).toBe(
      `<sip:agent@${weir.listenTls.address}:${weir.listenTls.port};transport=tls>`,
    );
    expect((await from.hangUp(call)).status).toBe(200);
    const invite = await agent.receive("INVITE", (m) => m.method === "INVITE");
    expect(invite.header("Via")).toMatch(/^SIP\/2\.0\/UDP /);
    expect(invite.header("Contact")).not.toContain("transport");
  });

  it("carries calls from UDP to TLS, all over one connection", async () => {
    const agent = await agentOnTls("carrier.example", { names: ["carrier.example"] });
    const from = kept(await Holder.at(weir));
    for (let i = 0; i < 3; i++) expect((await from.call("200")).status).toBe(200);
    while (await from.hangUp());
    expect(agent.connections).toHaveLength(1);
    const [invite] = agent.requests("INVITE");
    const { address, port } = weir.listenTls;
    expect(invite?.header("Via")).toMatch(new RegExp(`^SIP/2\\.0/TLS ${address}:${port};branch=[^;]+;rport;alias$`));
    expect(invite?.header("Contact")).toBe(`<sip:raw@${address}:${port};transport=tls>`);
    expect([agent.requests("ACK"), agent.requests("BYE")].map(({ length }) => length)).toEqual([3, 3]);
  });

  it("carries a call from TLS to TLS, with sip: or sips: on both sides as the caller asks", async () => {
    const agent = await agentOnTls("carrier.example", { names: [weir.agent("carrier.example").address] });
    const from = await caller();
    const { address, port } = weir.listenTls;
    for (const [scheme, contact] of [
      ["sip", `@${address}:${port};transport=tls>`],
      ["sips", `@${address}:${port}>`],
    ] as const) {
      const call = await from.call("200", scheme);
      expect(call.final.status).toBe(200);
      expect(call.final.header("Contact")).toBe(`<${scheme}:agent${contact}`);
      expect((await from.hangUp(call)).status).toBe(200);
      const invite = agent.requests("INVITE").at(-1);
      expect(invite?.requestUri.split(":")[0]).toBe(scheme);
      expect(invite?.header("Contact")).toBe(`<${scheme}:raw${contact}`);
    }
    expect(agent.requests("BYE")).toHaveLength(2);
  });

  it("asks DNS for an agent's TLS address, and its certificate for its name, for the whole call", async () => {
    const agent = kept(await TlsAgent.at(named, pem(authority.issue({ names: ["named.example"] }))));
    const from = kept(await Holder.at(weir));
    expect((await from.call("500")).status).toBe(200);
    await eventually("ACK", () => agent.requests("ACK").length === 1);
    // Its Contact tells the address alone, and the connection is not there any more.
    agent.connections[0]?.socket.destroy();
    expect((await from.hangUp())?.status).toBe(200);
    expect(agent.requests("BYE")).toHaveLength(1);
    expect(agent.connections).toHaveLength(2);
  });

  it("lets the agent hang up over the connection that the INVITE came by", async () => {
    const agent = await agentOnTls("carrier.example", { names: ["carrier.example"] });
    const from = kept(await Holder.at(weir));
    await from.call("200");
    const [connection] = agent.connections;
    const ack = await eventually("ACK", () => agent.requests("ACK")[0]);
    const { address, port } = weir.agent("carrier.example");
    connection?.send(
      [
        `BYE sip:raw@${weir.listenTls.address}:${weir.listenTls.port};transport=tls SIP/2.0`,
        `Via: SIP/2.0/TLS ${address}:${port};branch=z9hG4bKbye`,
        `From: ${ack.header("To")}`,
        `To: ${ack.header("From")}`,
        `Call-ID: ${ack.header("Call-ID")}`,
        "CSeq: 1 BYE",
        "Max-Forwards: 70",
        "Content-Length: 0\r\n\r\n",
      ].join("\r\n"),
    );
    await eventually("200 to BYE", () => connection?.received.some((m) => m.status === 200 && m.method === "BYE"));
    await eventually("BYE to the caller", () => from.requests.some(({ method }) => method === "BYE"));
  });

  for (const [number, hostname, wanted, by, why] of [
    [
      "301",
      "wrong.example",
      { names: ["other.example"] },
      authority,
      /^TLS: the certificate is for DNS:other\.example, not for wrong\.example or [\d.]+$/,
    ],
    [
      "302",
      "expired.example",
      { names: ["expired.example"], to: new Date(Date.now() - 1_000) },
      authority,
      /^TLS: certificate has expired$/,
    ],
    [
      "303",
      "unknown.example",
      { names: ["unknown.example"] },
      strange,
      /^TLS: unable to verify the first certificate$/,
    ],
  ] as const) {
    it(`takes an agent whose certificate does not do out of service and goes on at once: ${hostname}`, async () => {
      await agentOnTls(hostname, wanted, by);
      kept(await answeringAgent(weir.agent("plain")));
      const from = kept(await Holder.at(weir));
      const start = performance.now();
      expect((await from.call(number)).status).toBe(200);
      // Far less than the 4 s that a silent agent is given.
      expect(performance.now() - start).toBeLessThan(2_000);
      expect(await weir.view(hostname)).toMatchObject({ state: { letter: "O" }, reason: "transport-failure" });
      const { transitions } = JSON.parse((await weir.get(`/v1/agents/${hostname}`)).text) as {
        transitions: { detail?: string }[];
      };
      expect(transitions.at(-1)?.detail).toMatch(why);
      await eventually("a line in the log", () => weir.log.includes(transitions.at(-1)?.detail ?? "nothing"));
    });
  }

  it("gives an agent that does not finish the handshake 4 s", async () => {
    const silent = createServer((socket) => socket.on("error", () => undefined));
    const { address, port } = weir.agent("silent.example");
    silent.listen(port, address);
    await once(silent, "listening");
    kept(silent);
    kept(await answeringAgent(weir.agent("plain")));
    const from = kept(await Holder.at(weir));
    const start = performance.now();
    expect((await from.call("304")).status).toBe(200);
    expect(performance.now() - start).toBeGreaterThan(3_900);
    await eventually("out of service", async () => (await weir.view("silent.example")).state.letter === "O");
  });

  it("does not look at the certificate where tls-verify is disabled", async () => {
    await agentOnTls("careless.example", { names: ["x"], to: new Date(Date.now() - 1_000) }, strange);
    const from = kept(await Holder.at(weir));
    expect((await from.call("400")).status).toBe(200);
  });

  it("shuts out garbage and slow handshakes, and serves others meanwhile", async () => {
    kept(await answeringAgent(weir.agent("plain")));
    const failed = () => weir.metric("weir_engine_transports_handshakes_failed_total");
    const before = await failed();
    const strangers = await Promise.all(Array.from({ length: 50 }, () => RawConnection.open(weir.listenTls)));
    for (const [i, stranger] of strangers.entries()) {
      if (i % 2 === 0)
        stranger.write(i % 4 === 0 ? "INVITE sip:100@h SIP/2.0\r\n\r\n" : "\x16\x03\x01\x02\x00\x01\x00");
    }
    const from = await caller();
    const call = await from.call("100");
    expect(call.final.status).toBe(200);
    await from.hangUp(call);
    await eventually("all strangers shut out", () => strangers.every(({ closed }) => closed));
    await eventually("their count", async () => (await failed()) - before === strangers.length);
  });

  it("holds 1,000 connections, each of which works", async () => {
    kept(await answeringAgent(weir.agent("plain")));
    const megabytes = async () => (await weir.metric("process_resident_memory_bytes")) / 1_048_576;
    const before = await megabytes();
    const callers: TlsCaller[] = [];
    for (let i = 0; i < 20; i++) callers.push(...(await Promise.all(Array.from({ length: 50 }, () => caller()))));
    expect(await weir.metric("weir_engine_transports_connections")).toBeGreaterThanOrEqual(1_000);
    for (const from of callers.filter((_, i) => i % 20 === 0)) {
      const call = await from.call("100");
      expect(call.final.status).toBe(200);
      await from.hangUp(call);
    }
    // 0.04 MB each, as measured; three times that is too much.
    expect((await megabytes()) - before).toBeLessThan(120);
    expect(callers.every(({ connection }) => !connection.closed)).toBe(true);
  }, 60_000);

  it("takes a new certificate under load without a failed call", async () => {
    const agent = await agentOnTls("carrier.example", { names: ["carrier.example"] });
    const replaced = () => weir.metric("weir_engine_transports_certificates_replaced_total");
    const before = await replaced();
    const held = await caller();
    const heldCall = await held.call("200");
    const newCertificate = authority.issue({ names: ["weir.example", "new.example"] });
    let stop = false;
    const statuses: number[] = [];
    const shown = new Set<boolean>();
    /** Calls one after the other, each on a connection of its own. */
    const load = async () => {
      while (!stop) {
        const from = await TlsCaller.connect(weir.listenTls, trusting);
        shown.add(from.connection.socket.getPeerCertificate().subjectaltname?.includes("new.example") ?? false);
        const call = await from.call("200");
        statuses.push(call.final.status, (await from.hangUp(call)).status);
        from.close();
      }
    };
    const loads = Promise.all(Array.from({ length: 5 }, load));
    await eventually("calls", () => statuses.length > 20);
    files.write("weir", newCertificate, authority);
    await eventually("the change", async () => (await replaced()) > before);
    const enough = statuses.length + 20;
    await eventually("calls after it", () => statuses.length > enough);
    stop = true;
    await loads;
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(shown).toEqual(new Set([false, true]));
    expect(agent.connections).toHaveLength(1);
    expect((await held.hangUp(heldCall)).status).toBe(200);
  }, 60_000);
});

describe.skipIf(onDrachtio)("mutual TLS, with the engine in a thread of its own", () => {
  let weir: Weir;
  let agent: TlsAgent;
  const directory = new PemDirectory();

  beforeAll(async () => {
    weir = await Weir.start({
      agents: { "carrier.example": { "transport-method": "TLS" } },
      routes: { "100": ["carrier.example"] },
      thread: "worker",
      tls: { ...directory.write("weir", ours(), authority), "client-certificate": "require" },
    });
    const certificate = authority.issue({ names: ["carrier.example"] });
    agent = await TlsAgent.at(weir.agent("carrier.example"), { ...pem(certificate), requestCert: true });
  });
  afterAll(async () => {
    agent?.close();
    await weir?.stop();
    directory.remove();
  });

  it("takes calls of peers with a certificate of the authority, and shows its own to agents that require one", async () => {
    const known = authority.issue({ names: ["pbx.example"] });
    const from = await TlsCaller.connect(weir.listenTls, { ...trusting, ...pem(known) });
    const call = await from.call("100");
    expect(call.final.status).toBe(200);
    expect((await from.hangUp(call)).status).toBe(200);
    from.close();
    expect(agent.connections[0]?.socket.getPeerCertificate().subjectaltname).toBe("DNS:weir.example");
    await weir.idle();
  });

  it.each([
    ["no certificate", {}],
    ["one of another authority", pem(strange.issue({ names: ["pbx.example"] }))],
  ])("shuts out peers with %s", async (_, options) => {
    const from = await TlsCaller.connect(weir.listenTls, { ...options, ...trusting });
    await eventually("the end", () => from.connection.closed);
    expect(await weir.calls()).toEqual([]);
  });
});
