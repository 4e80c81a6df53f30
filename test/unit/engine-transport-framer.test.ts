import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Frame, StreamFramer } from "../../src/engine/transport/stream-framer.ts";

const message = (id: number, body = "") =>
  `OPTIONS sip:${id}@h SIP/2.0\r\nCall-ID: ${id}\r\nContent-Length : ${body.length}\r\n\r\n${body}`;

/** Everything the framer finds when the stream comes in these pieces. */
function frames(...pieces: string[]): Frame[] {
  const framer = new StreamFramer();
  const found: Frame[] = [];
  for (const piece of pieces) {
    framer.push(piece);
    for (let frame = framer.next(); frame !== undefined; frame = framer.next()) {
      found.push(frame);
      if (frame.kind === "broken") return found;
    }
  }
  return found;
}

const whole = (text: string): Frame => ({ kind: "message", text });

describe("the stream framer", () => {
  it("cuts messages by Content-Length, however the stream was cut", () => {
    const texts = [message(1), message(2, "body\r\n\r\nmore"), message(3, "x")];
    fc.assert(
      fc.property(fc.array(fc.nat(texts.join("").length), { maxLength: 12 }), (cuts) => {
        const stream = texts.join("");
        const at = [0, ...cuts.sort((a, b) => a - b), stream.length];
        const pieces = at.slice(1).map((end, index) => stream.slice(at[index], end));
        expect(frames(...pieces)).toEqual(texts.map(whole));
      }),
    );
  });

  it("takes a missing Content-Length for 0, knows the compact form and a folded one", () => {
    const none = "OPTIONS sip:a@h SIP/2.0\r\nVia: x\r\n\r\n";
    const compact = "OPTIONS sip:a@h SIP/2.0\r\nl: 2\r\n\r\nab";
    const folded = "OPTIONS sip:a@h SIP/2.0\r\nContent-Length:\r\n  3\r\n\r\nabc";
    expect(frames(none + compact + folded)).toEqual([none, compact, folded].map(whole));
  });

  it("finds pings between messages, and takes a single CRLF for padding", () => {
    const text = message(1);
    expect(frames(`\r\n\r\n${text}\r\n${text}\r\n\r\n`)).toEqual([
      { kind: "ping" },
      whole(text),
      whole(text),
      { kind: "ping" },
    ]);
    expect(frames("\r", "\n", "\r", "\n", text)).toEqual([{ kind: "ping" }, whole(text)]);
    expect(frames("\r\n", text)).toEqual([whole(text)]);
    expect(frames(`\r\n\r\n\r\n${text}`)).toEqual([{ kind: "ping" }, whole(text)]);
  });

  it("knows a message that has begun from the rest of a ping", () => {
    const framer = new StreamFramer();
    for (const [piece, partial] of [
      ["\r", false],
      ["\n", false],
      ["\r", false],
      ["\nOPT", true],
    ] as const) {
      framer.push(piece);
      framer.next();
      if (piece === "\nOPT") framer.next();
      expect(framer.partial, JSON.stringify(piece)).toBe(partial);
    }
  });

  it("keeps the head of a message whose length is wrong, so that it can be answered", () => {
    for (const length of ["-999", "many", "", "1\r\nl: 1", "99999999999999999999"]) {
      const head = `OPTIONS sip:a@h SIP/2.0\r\nContent-Length: ${length}\r\n\r\n`;
      expect(frames(`${head}body`)).toEqual([{ kind: "broken", reason: "Wrong Content-Length", text: head }]);
    }
  });

  it("gives up on a message that is or would become too large", () => {
    const head = "OPTIONS sip:a@h SIP/2.0\r\nContent-Length: 4294967296\r\n\r\n";
    expect(frames(head)).toEqual([{ kind: "broken", reason: "Message Too Large", text: head }]);
    const endless = `OPTIONS sip:a@h SIP/2.0\r\nX: ${"a".repeat(70_000)}`;
    expect(frames(endless)).toEqual([{ kind: "broken", reason: "Message Too Large", text: "" }]);
  });

  it("gives up at once on what cannot become SIP", () => {
    for (const garbage of ["\x16\x03\x01\x02\x00", "{}", `${"A".repeat(65)}`, "GET\t/ HTTP/1.1", " OPTIONS"]) {
      expect(frames(garbage), garbage).toEqual([{ kind: "broken", reason: "Not SIP", text: "" }]);
    }
    expect(frames("SIP/2.0 200 OK\r\n\r\n")).toHaveLength(1);
  });

  it("never throws and never hangs, whatever comes", () => {
    const piece = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("\r\n", "\r", "\n", "\r\n\r\n", "l:", "Content-Length: ", "9", " ", "OPTIONS sip:a SIP/2.0\r\n"),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        expect(frames(...pieces).length).toBeLessThanOrEqual(pieces.join("").length);
      }),
      { numRuns: 2_000 },
    );
  });
});
