import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseNameAddr } from "../../src/engine/message/name-addr.ts";
import { splitValues, withParam } from "../../src/engine/message/params.ts";
import { MalformedMessage, parseMessage, SipMessage } from "../../src/engine/message/sip-message.ts";
import { parseUri } from "../../src/engine/message/uri.ts";
import { parseVia } from "../../src/engine/message/via.ts";
import { MessageWriter, responseTo } from "../../src/engine/message/write.ts";
import { stampVia } from "../../src/engine/transport/transport.ts";

/** Inputs that once broke something (`corpus/`), and the torture messages as seeds. */
const corpus = new URL("corpus/", import.meta.url);
const torture = new URL("../torture/corpus/", import.meta.url);
const filesIn = (folder: URL) =>
  readdirSync(folder)
    .filter((name) => !name.endsWith(".md"))
    .map((name) => readFileSync(new URL(name, folder), "latin1"));
const seeds = filesIn(torture);

const source = { remoteAddress: "192.0.2.1", remotePort: 5060 };

/** Reads everything there is to read, and answers, as the layers above do with whatever the parser lets through. */
function exercise(text: string): void {
  const result = parseMessage(text);
  if (result instanceof MalformedMessage) {
    expect(result.reason).not.toBe("");
    if (result.status === 0) return;
    expect(result.partial?.isRequest).toBe(true);
    expect(result.partial?.method).not.toBe("ACK");
  }
  const message = result instanceof SipMessage ? result : result.partial;
  if (message === undefined) return;
  const names = new Set<string>();
  message.eachHeader((lower, wire) => {
    expect(wire).toMatch(/^[\w\-.!%*+`'~]+$/);
    names.add(lower);
  });
  for (const name of names) {
    expect(message.headers(name)[0]).toBe(message.header(name));
    for (const value of message.headerValues(name)) expect(value).not.toMatch(/[\r\n]\S/);
  }
  expect(message.cseq).toBeLessThan(2 ** 31);
  if (!message.isRequest) return;
  const { callId, fromTag, toTag, branch, target, body } = message;
  expect([callId, fromTag, toTag, branch, String(target), body].every((part) => typeof part === "string")).toBe(true);
  const answer = responseTo(message, 400, { toTag: "t", topVia: stampVia(message, source) }).body();
  // Whatever came in, no line of the answer is longer than one line, and none was smuggled in.
  const heads = answer.slice(0, -4).split("\r\n").slice(1);
  for (const line of heads) expect(line).toMatch(/^(Via|From|To|Call-ID|CSeq|Content-Length): /);
}

/** A seed with a few stretches cut out, doubled, or replaced by odd bytes. */
const mutated = fc
  .tuple(
    fc.constantFrom(...seeds),
    fc.array(
      fc.tuple(
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.nat(40),
        fc.oneof(
          fc.constantFrom(
            "",
            "\r\n",
            "\r",
            "\n",
            "\r\n ",
            "\0",
            '"',
            "<",
            ">",
            ";",
            ",",
            ":",
            "@",
            "[",
            "\\",
            "\xff",
            "=",
          ),
          fc.constantFrom("Content-Length: 9\r\n", "Via: \r\n", "\r\n\r\n", "CSeq: 1 A", "SIP/2.0", "sip:", "%00"),
          fc.string({ unit: "binary", maxLength: 12 }).map((text) => Buffer.from(text).toString("latin1")),
        ),
      ),
      { minLength: 1, maxLength: 6 },
    ),
  )
  .map(([seed, edits]) =>
    edits.reduce((text, [where, length, insert]) => {
      const at = Math.floor(where * text.length);
      return text.slice(0, at) + insert + text.slice(at + length);
    }, seed),
  );

describe("the parser never throws", () => {
  it("on inputs that once broke something", () => {
    for (const text of filesIn(corpus)) exercise(text);
  });

  it("on torture messages changed at random", () => {
    fc.assert(fc.property(mutated, exercise), { numRuns: 5_000 });
  });

  it("on bytes at random", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => exercise(Buffer.from(bytes).toString("latin1"))),
      { numRuns: 3_000 },
    );
  });

  it("on any value of any element", () => {
    const value = fc.string({
      unit: fc.constantFrom(...'<>"\\;,=:@[]? \r\n\tabc019%./SIP\xff'.split("")),
      maxLength: 40,
    });
    fc.assert(
      fc.property(value, (text) => {
        parseUri(text);
        const address = parseNameAddr(text);
        if (address) expect(address.tag).not.toMatch(/[;\s]/);
        const via = parseVia(text);
        if (via) expect(parseVia(withParam(via.text, "received", "1.1.1.1"))?.host).toBe(via.host);
        for (const each of splitValues(text)) expect(each).toBe(each.trim());
      }),
      { numRuns: 5_000 },
    );
  });
});

describe("what is written is read back", () => {
  const token = fc.string({ unit: fc.constantFrom(..."abcXYZ019-.!%*_+`'~".split("")), minLength: 1, maxLength: 12 });
  const byte = fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code));
  const text = fc
    .string({ unit: byte.filter((char) => !"\r\n".includes(char)), maxLength: 40 })
    .map((line) => line.trim());

  it("headers of any name and value, and a body of any bytes", () => {
    const headers = fc.array(
      fc.tuple(
        token.map((name) => `X-${name}`),
        text,
      ),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(headers, fc.string({ unit: byte, maxLength: 100 }), (fields, body) => {
        const writer = MessageWriter.request("OPTIONS", "sip:a@h");
        for (const [name, value] of fields) writer.header(name, value);
        const message = parseMessage(writer.body(body), { lenient: true });
        if (message instanceof MalformedMessage) throw new Error(message.reason);
        const seen: [string, string][] = [];
        message.eachHeader((_, wire, value) => seen.push([wire, value]));
        expect(seen.slice(0, -1)).toEqual(fields);
        expect(message.body).toBe(body);
      }),
      { numRuns: 1_000 },
    );
  });
});
