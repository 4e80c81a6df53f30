import Srf from "drachtio-srf";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { AppLink, LinkHost } from "../../src/engine/link/app-link.ts";
import { encodeFrame, FrameReader, FramingError, parseFrame, toByteText } from "../../src/engine/link/frames.ts";
import { createVirtualLink } from "../../src/engine/link/virtual-link.ts";

/** An engine that accepts any secret and writes down what the application says. */
class FakeEngine implements LinkHost {
  readonly heard: string[] = [];
  link: AppLink | undefined;
  closed = false;

  attach(link: AppLink) {
    this.link = link;
    return {
      receive: (payload: string) => {
        const { id, type, tokens } = parseFrame(payload);
        this.heard.push(payload);
        if (type === "authenticate")
          link.deliver(`x|response|${id}|OK|udp/127.0.0.1:5060|v0.9.5-test|udp/127.0.0.1:5060`);
        expect(tokens.length).toBeGreaterThan(1);
      },
      closed: () => {
        this.closed = true;
      },
    };
  }

  appStage(stage: () => void): void {
    setImmediate(stage);
  }

  count(type: string): number {
    return this.heard.filter((payload) => parseFrame(payload).type === type).length;
  }
}

function inviteFrame(n: number, subject = "none"): string {
  const message = [
    "INVITE sip:svc@127.0.0.1 SIP/2.0",
    "Via: SIP/2.0/UDP 127.0.0.1:5081;branch=z9hG4bK1",
    "From: <sip:a@127.0.0.1>;tag=a",
    "To: <sip:svc@127.0.0.1>",
    `Call-ID: call-${n}`,
    "CSeq: 1 INVITE",
    `Subject: ${subject}`,
    "Content-Length: 0",
    "",
    "",
  ].join("\r\n");
  return `m${n}|sip|network|${message.length}|udp|127.0.0.1|5081|10:00:00.000000|t${n}||127.0.0.1|5060|\r\n${message}`;
}

async function linked(): Promise<{ engine: FakeEngine; srf: Srf; server: ReturnType<typeof createVirtualLink> }> {
  const engine = new FakeEngine();
  const server = createVirtualLink(engine);
  const srf = new Srf();
  const connected = new Promise<void>((resolve) => srf.on("connect", () => resolve()));
  srf.listen({ server, secret: "s3cret" } as never);
  await connected;
  return { engine, srf, server };
}

describe("the frame reader", () => {
  it("returns the payloads whatever the chunks", () => {
    const payload = fc.string({
      unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
      minLength: 1,
    });
    fc.assert(
      fc.property(fc.array(payload), fc.array(fc.nat(40)), (payloads, cuts) => {
        let stream = payloads.map(encodeFrame).join("");
        const reader = new FrameReader();
        const read: string[] = [];
        for (const cut of cuts) {
          read.push(...reader.read(stream.slice(0, cut)));
          stream = stream.slice(cut);
        }
        read.push(...reader.read(stream));
        expect(read).toEqual(payloads);
      }),
    );
  });

  it.each(["abc#x", "1234567#", "123456", "0#", "#", "-1#"])("gives up on %j", (stream) => {
    expect(() => new FrameReader().read(stream)).toThrow(FramingError);
  });
});

describe("the text of a frame", () => {
  it("keeps empty tokens, and everything after the first line", () => {
    expect(parseFrame("id|sip||d|\r\nACK x SIP/2.0\r\n\r\nbody\r\n")).toMatchObject({
      type: "sip",
      tokens: ["id", "sip", "", "d", ""],
      text: "ACK x SIP/2.0\r\n\r\nbody\r\n",
    });
  });

  it("writes characters beyond one byte as UTF-8, and leaves single bytes alone", () => {
    expect(toByteText("caf\xc3\xa9 ☎")).toBe("caf\xc3\xa9 \xe2\x98\x8e");
  });
});

describe("the virtual link", () => {
  afterEach(() => vi.restoreAllMocks());

  it("connects an unmodified drachtio-srf, which authenticates with its secret", async () => {
    const { engine } = await linked();
    expect(parseFrame(engine.heard[0] ?? "").tokens.slice(1, 3)).toEqual(["authenticate", "s3cret"]);
  });

  it("carries bytes that are no UTF-8 both ways untouched", async () => {
    const { engine, srf } = await linked();
    const subject = "\xff\xc3\xa9\x80";
    const seen = new Promise<string>((resolve) =>
      srf.invite((req, res) => {
        resolve(req.get("Subject"));
        res.send(486, { headers: { Subject: req.get("Subject") } });
      }),
    );
    engine.link?.deliver(inviteFrame(1, subject));
    expect(await seen).toBe(subject);
    await vi.waitFor(() => expect(engine.heard.at(-1)).toContain(`subject: ${subject}\r\n`));
  });

  it("survives a request that no handler takes, and delivers what was behind it", async () => {
    const { engine, srf } = await linked();
    srf.use("options", () => {});
    engine.link?.deliver(inviteFrame(1));
    engine.link?.deliver(inviteFrame(2));
    await vi.waitFor(() => expect(engine.heard.filter((payload) => payload.includes("SIP/2.0 404"))).toHaveLength(2));
    expect(engine.count("authenticate")).toBeGreaterThan(1);
    const seen: string[] = [];
    srf.invite((req, res) => {
      seen.push(req.get("Call-ID"));
      res.send(486);
    });
    engine.link?.deliver(inviteFrame(3));
    await vi.waitFor(() => expect(engine.heard.at(-1)).toContain("SIP/2.0 486"));
    expect(seen).toEqual(["call-3"]);
  });

  it("survives a frame that makes the library throw, without a new authentication", async () => {
    const complaints = vi.spyOn(console, "error").mockImplementation(() => {});
    const { engine, srf } = await linked();
    srf.invite((_req, res) => res.send(486));
    engine.link?.deliver("x|unheard-of");
    engine.link?.deliver(inviteFrame(1));
    await vi.waitFor(() => expect(engine.heard.at(-1)).toContain("SIP/2.0 486"));
    engine.link?.deliver(inviteFrame(2));
    await vi.waitFor(() => expect(engine.heard.at(-1)).toContain("Call-ID: call-2"));
    expect(complaints).toHaveBeenCalledTimes(1);
  });

  it("tells the engine when the application closes its server", async () => {
    const { engine, server } = await linked();
    server.close();
    await vi.waitFor(() => expect(engine.closed).toBe(true));
  });

  it("hands over a payload marked apart in a later turn, after the promises of earlier ones", async () => {
    const { engine, srf } = await linked();
    const order: string[] = [];
    srf.invite((req, res) => {
      order.push(req.get("Call-ID"));
      res.send(486);
      void Promise.resolve().then(() => order.push(`then ${req.get("Call-ID")}`));
    });
    engine.link?.deliver(inviteFrame(1));
    engine.link?.deliver(inviteFrame(2), true);
    await vi.waitFor(() => expect(order).toHaveLength(4));
    expect(order).toEqual(["call-1", "then call-1", "call-2", "then call-2"]);
  });
});
