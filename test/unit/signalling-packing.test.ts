import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { packedDialect } from "../../src/engine/core/dialect.ts";
import { parseMessage, SipMessage } from "../../src/engine/message/sip-message.ts";
import { packed } from "../../src/signalling/packing.ts";
import type { RawMessage } from "../../src/signalling/raw-srf.ts";

const parsed = (text: string): SipMessage => {
  const message = parseMessage(text, { lenient: true });
  if (!(message instanceof SipMessage)) throw new Error(message.reason);
  return message;
};

const read = (text: string): SipMessage => {
  const message = packedDialect.read(text);
  if (!(message instanceof SipMessage)) throw new Error(message.reason);
  return message;
};

/** What drachtio-srf makes of what it is given. */
const written = (line: string, headers: Readonly<Record<string, string>>, body: string): string => {
  const message = packed.pack(headers, body);
  expect(message.headers).toEqual({});
  return `${line}\r\ncontent-length: ${message.body.length}\r\n\r\n${message.body}`;
};

const unpack = (raw: string) => packed.unpack({ raw } as RawMessage);

describe("a packed message", () => {
  it("shows drachtio-srf a request by start line and transaction alone, and the application all of it", () => {
    const text = packedDialect.showRequest(
      parsed(
        "\r\n\r\nINVITE sip:a@b SIP/2.0\r\nv: SIP/2.0/UDP h;branch=z\r\ni: id\r\nf: <sip:x@y>;tag=1\r\nX-Odd: 1\r\n" +
          "Allow: INVITE,\r\n ACK\r\nallow: BYE\r\nl: 9\r\n\r\nv=0\r\n\r\nb\r",
      ),
      "t1",
    );
    expect(text.slice(0, text.indexOf("\r\n\r\n"))).toBe("INVITE sip:a@b SIP/2.0\r\nCall-ID: t1");
    expect(unpack(text)).toEqual({
      headers: { "call-id": "id", from: "<sip:x@y>;tag=1", "X-Odd": "1", allow: "INVITE, ACK,BYE" },
      body: "v=0\r\n\r\nb\r",
    });
  });

  it("shows a request as the CANCEL of itself", () => {
    const bye = parsed("BYE sip:a@b SIP/2.0\r\nCall-ID: id\r\nReason: SIP;cause=200\r\n\r\n");
    const text = packedDialect.showRequest(bye, "t1", "CANCEL");
    expect(text.startsWith("CANCEL sip:a@b SIP/2.0\r\nCall-ID: t1\r\n\r\n")).toBe(true);
    expect(unpack(text).headers).toEqual({ "call-id": "id", reason: "SIP;cause=200" });
  });

  it("shows what the engine has made itself", () => {
    const text = packedDialect.showOwn("SIP/2.0 408 Request Timeout\r\nCall-ID: id\r\n\r\n");
    expect(unpack(text)).toEqual({ headers: { "call-id": "id" }, body: "" });
  });

  it("brings what the application sends through drachtio-srf, whatever the body", () => {
    const name = fc.constantFrom("subject", "X-Own", "reason", "allow");
    const value = fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/);
    const body = fc.string({ unit: fc.constantFrom("\r\n", "\r\n\r\n", "a", "\xff", " ") });
    fc.assert(
      fc.property(fc.dictionary(name, value, { noNullPrototype: true }), body, (headers, text) => {
        const message = read(written("INVITE sip:a@b SIP/2.0", headers, text));
        expect(message.body).toBe(text);
        expect(Object.keys(headers).map((each) => message.header(each.toLowerCase()))).toEqual(Object.values(headers));
      }),
    );
  });

  it("understands what drachtio-srf says of itself", () => {
    const message = read("SIP/2.0 500 Server Internal Error\r\nRetry-After: 5\r\ncontent-length: 0\r\n\r\n");
    expect([message.status, message.header("retry-after"), message.body]).toEqual([500, "5", ""]);
  });

  it("is echoed where raw calls wait for that", () => {
    const request = (method: string) =>
      `${method} sip:a@b SIP/2.0\r\nVia: SIP/2.0/UDP h\r\nFrom: <sip:x>\r\nCall-ID: id\r\nCSeq: 1 ${method}\r\n\r\n`;
    expect(packedDialect.requestEcho(request("BYE"))).toBe("BYE sip:a@b SIP/2.0\r\nCall-ID: id\r\n\r\n");
    expect(packedDialect.requestEcho(request("ACK"))).toBeUndefined();
    const echoed = (status: number, method: string) => packedDialect.responseEcho("", status, method) !== undefined;
    expect([echoed(200, "INVITE"), echoed(180, "INVITE"), echoed(486, "INVITE"), echoed(200, "BYE")]).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});
