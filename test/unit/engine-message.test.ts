import { describe, expect, it } from "vitest";
import { MalformedMessage, parseMessage, SipMessage } from "../../src/engine/message/sip-message.ts";
import { MessageWriter, responseTo } from "../../src/engine/message/write.ts";

const lines = {
  start: "INVITE sip:100@127.0.0.2:5060 SIP/2.0",
  via: "Via: SIP/2.0/UDP 127.0.0.1:5061;rport;branch=z9hG4bK1",
  from: 'From: "caller" <sip:200@127.0.0.1>;tag=f1',
  to: "To: <sip:100@127.0.0.2>",
  callId: "Call-ID: id@127.0.0.1",
  cseq: "CSeq: 1 INVITE",
  maxForwards: "Max-Forwards: 70",
  contact: "Contact: <sip:200@127.0.0.1:5061>",
  length: "Content-Length: 4",
};
type Line = keyof typeof lines;

/** A good INVITE with some lines replaced (several lines joined by CRLF do) or, by "", left out. */
function invite(changes: Partial<Record<Line, string>> = {}, body = "body"): string {
  const all = Object.values({ ...lines, ...changes }).filter((line) => line !== "");
  return `${all.join("\r\n")}\r\n\r\n${body}`;
}

function parsed(text: string, options?: { lenient?: boolean }): SipMessage {
  const message = parseMessage(text, options);
  if (message instanceof MalformedMessage) throw new Error(message.reason);
  return message;
}

function refused(text: string): MalformedMessage {
  const message = parseMessage(text);
  if (message instanceof SipMessage) throw new Error("was accepted");
  return message;
}

describe("a request", () => {
  it("shows its parts", () => {
    const message = parsed(invite());
    expect(message).toMatchObject({
      isRequest: true,
      method: "INVITE",
      requestUri: "sip:100@127.0.0.2:5060",
      status: 0,
      reasonPhrase: "",
      body: "body",
      callId: "id@127.0.0.1",
      cseq: 1,
      cseqMethod: "INVITE",
      fromTag: "f1",
      toTag: "",
      branch: "z9hG4bK1",
      maxForwards: 70,
    });
    expect(message.target).toMatchObject({ user: "100", host: "127.0.0.2", port: 5060 });
    expect(message.topVia).toMatchObject({ host: "127.0.0.1", port: 5061, rport: "" });
  });

  it("finds headers by their full name, whatever form and case they came in", () => {
    const message = parsed(
      invite({ via: "v: SIP/2.0/UDP a;branch=z\r\nVIA: SIP/2.0/UDP b, SIP/2.0/UDP c", contact: "" }),
    );
    expect(message.header("via")).toBe("SIP/2.0/UDP a;branch=z");
    expect(message.headers("via")).toEqual(["SIP/2.0/UDP a;branch=z", "SIP/2.0/UDP b, SIP/2.0/UDP c"]);
    expect(message.headerValues("via")).toEqual(["SIP/2.0/UDP a;branch=z", "SIP/2.0/UDP b", "SIP/2.0/UDP c"]);
    expect(message.header("contact")).toBeUndefined();
    expect(message.headers("contact")).toEqual([]);
    expect(message.headerValues("contact")).toEqual([]);
  });

  it("splits at commas only what is known to be a list", () => {
    const message = parsed(
      invite({ contact: "Date: Mon, 01 Jan\r\nX-A: 1, 2\r\nWWW-Authenticate: Digest a=1, b=2\r\nk: a, b" }),
    );
    expect(message.headerValues("date")).toEqual(["Mon, 01 Jan"]);
    expect(message.headerValues("x-a")).toEqual(["1, 2"]);
    expect(message.headerValues("www-authenticate")).toEqual(["Digest a=1, b=2"]);
    expect(message.headerValues("supported")).toEqual(["a", "b"]);
  });

  it("finds unknown headers whatever their case, and visits all in order", () => {
    const message = parsed(invite({ contact: "x-Trunk: 1\r\nX-TRUNK: 2\r\nk: timer" }));
    expect(message.header("x-trunk")).toBe("1");
    expect(message.headers("x-trunk")).toEqual(["1", "2"]);
    const seen: string[] = [];
    message.eachHeader((lower, wire, value) => seen.push(`${lower}|${wire}|${value}`));
    expect(seen.slice(-4)).toEqual([
      "x-trunk|x-Trunk|1",
      "x-trunk|X-TRUNK|2",
      "supported|Supported|timer",
      "content-length|Content-Length|4",
    ]);
  });

  it("does not show headers that are named as properties of every object", () => {
    const message = parsed(invite({ contact: "__proto__: a\r\nConstructor: b\r\nhasOwnProperty: c\r\nZ: d" }));
    const seen: string[] = [];
    message.eachHeader((lower) => seen.push(lower));
    expect(seen).toContain("z");
    expect(seen).not.toContain("__proto__");
    expect(seen).not.toContain("constructor");
    expect(seen).not.toContain("hasownproperty");
  });

  it("unfolds a folded value to single spaces", () => {
    expect(parsed(invite({ contact: "Subject: a \r\n\tb\r\n   c" })).header("subject")).toBe("a b c");
    expect(parsed(invite({ to: "To:\r\n <sip:100@h>" })).header("to")).toBe("<sip:100@h>");
  });

  it("takes no bytes of UTF-8 text for white space", () => {
    expect(parsed(invite({ contact: "Subject: \xc3\xa0\r\n \xc2\xa0" })).header("subject")).toBe("\xc3\xa0 \xc2\xa0");
  });

  it("costs no more than its length, however odd", () => {
    const spaces = " ".repeat(7_000);
    const odd = [
      invite({ from: `From: "a${spaces}b"\r\n <sip:a@h>;tag=1` }),
      invite({ via: `Via: SIP/2.0/UDP a${spaces}b:1` }),
      invite({ to: "x\r\n".repeat(20_000) }),
      invite({ to: "x\n".repeat(30_000) }),
      invite({ to: `To: <sip:a@h>${";a=b".repeat(1_500)}` }),
      invite({ contact: `Contact: ${"<sip:a@h>,".repeat(800)}` }),
    ];
    const start = performance.now();
    for (let round = 0; round < 10; round++) for (const text of odd) parseMessage(text);
    // A millisecond each would be generous; quadratic time takes hundreds.
    expect(performance.now() - start).toBeLessThan(3_000);
  });

  it("keeps bytes that are no UTF-8", () => {
    const message = parsed(invite({ from: 'From: "\xff\xfe\xc0" <sip:a@h>;tag=1' }));
    expect(message.header("from")).toBe('"\xff\xfe\xc0" <sip:a@h>;tag=1');
  });

  it("may have no Max-Forwards, no From tag, and a tel Request-URI", () => {
    expect(parsed(invite({ maxForwards: "" })).maxForwards).toBe(-1);
    expect(parsed(invite({ from: "From: sip:a@h" })).fromTag).toBe("");
    expect(parsed(invite({ start: "INVITE tel:+49301 SIP/2.0" }))).toMatchObject({
      requestUri: "tel:+49301",
      target: undefined,
    });
  });

  it("may be preceded by empty lines, and has no body past its Content-Length", () => {
    const message = parsed(`\r\n\r\n${invite({}, "bodyINVITE sip:next")}`);
    expect(message.body).toBe("body");
    expect(message.text.endsWith("\r\n\r\nbody")).toBe(true);
    expect(parsed(invite({ length: "" }, "all of it")).body).toBe("all of it");
  });

  it("may have a Contact of *, and several", () => {
    expect(parsed(invite({ contact: "Contact: *" })).header("contact")).toBe("*");
    expect(parsed(invite({ contact: 'm: "a, b" <sip:a@h>, sip:c@h' })).headerValues("contact")).toHaveLength(2);
  });
});

describe("a malformed request", () => {
  const cases: readonly [what: string, text: string, status: number, reason: string][] = [
    ["no To", invite({ to: "" }), 400, "Missing Or Malformed To"],
    ["no From", invite({ from: "" }), 400, "Missing Or Malformed From"],
    ["no Call-ID", invite({ callId: "" }), 400, "Missing Or Malformed Call-ID"],
    ["a Call-ID that would break a frame", invite({ callId: "Call-ID: a|b" }), 400, "Missing Or Malformed Call-ID"],
    ["no CSeq", invite({ cseq: "" }), 400, "Missing Or Malformed CSeq"],
    ["another method in CSeq", invite({ cseq: "CSeq: 1 OPTIONS" }), 400, "CSeq Method Mismatch"],
    ["CSeq not a number", invite({ cseq: "CSeq: x9 INVITE" }), 400, "Missing Or Malformed CSeq"],
    ["CSeq of 2^31", invite({ cseq: "CSeq: 2147483648 INVITE" }), 400, "Missing Or Malformed CSeq"],
    ["CSeq twice", invite({ cseq: "CSeq: 1 INVITE\r\nCSeq: 2 INVITE" }), 400, "Repeated Header"],
    ["negative Max-Forwards", invite({ maxForwards: "Max-Forwards: -7" }), 400, "Malformed Max-Forwards"],
    ["Max-Forwards of 256", invite({ maxForwards: "Max-Forwards: 256" }), 400, "Malformed Max-Forwards"],
    ["Content-Length beyond the datagram", invite({ length: "Content-Length: 5" }), 400, "Wrong Content-Length"],
    ["a negative Content-Length", invite({ length: "Content-Length: -999" }), 400, "Wrong Content-Length"],
    ["a Content-Length in words", invite({ length: "l: many" }), 400, "Wrong Content-Length"],
    ["Content-Length twice", invite({ length: "l: 4\r\nContent-Length: 4" }), 400, "Repeated Header"],
    ["another version", invite({ start: "INVITE sip:a@h SIP/7.0" }), 505, "Version Not Supported"],
    ["no version", invite({ start: "INVITE sip:a@h HTTP" }), 400, "Malformed Request Line"],
    ["a URI that is none", invite({ start: "INVITE sip:;;;@@::: SIP/2.0" }), 400, "Malformed Request-URI"],
    ["spaces in the URI", invite({ start: "INVITE sip:1 0 0@h SIP/2.0" }), 400, "Malformed Request-URI"],
    ["headers in the URI", invite({ start: "INVITE sip:a@h?x=y SIP/2.0" }), 400, "Malformed Request-URI"],
    ["a port out of range", invite({ start: "INVITE sip:a@h:99999 SIP/2.0" }), 400, "Malformed Request-URI"],
    ["an unknown scheme", invite({ start: "INVITE nobodyKnows:this SIP/2.0" }), 416, "Unsupported URI Scheme"],
    ["an open quote in From", invite({ from: 'From: "\\caller <sip:a@h>;tag=1' }), 400, "Missing Or Malformed From"],
    ["brackets too many in To", invite({ to: "To: <<<sip:a@h>" }), 400, "Missing Or Malformed To"],
    ["a line without colon", invite({ to: `garbage line\r\n${lines.to}` }), 400, "Malformed Header Line"],
    ["a line of 20 kB", invite({ to: `X: ${"a".repeat(20_000)}\r\n${lines.to}` }), 400, "Header Line Too Long"],
    ["2,000 headers", invite({ to: `${"X: 1\r\n".repeat(2_000)}${lines.to}` }), 400, "Too Many Headers"],
    ["a bare CR in a value", invite({ to: `${lines.to}\rInjected: 1` }), 400, "Bare Carriage Return Or Line Feed"],
    ["a bare CR in a fold", invite({ to: `${lines.to}\r\n \r;x=1` }), 400, "Bare Carriage Return Or Line Feed"],
    ["bare LFs", invite().replaceAll("\r\n", "\n"), 400, "Bare Carriage Return Or Line Feed"],
    ["a NUL in a value", invite({ to: `X: a\0b\r\n${lines.to}` }), 400, "NUL in Header"],
    ["no blank line", invite().split("\r\n\r\n", 1).join(""), 400, "Truncated Headers"],
    ["a broken Contact", invite({ contact: "Contact: <sip:a@h>;;" }), 400, "Malformed Contact"],
    ["bad parameters in Via", invite({ via: "Via: SIP/2.0/UDP h;;;" }), 400, "Missing Or Malformed Via"],
  ];
  it("with NUL as a quoted pair, or in its body, is taken (section 25.1)", () => {
    const text = invite({ to: `Subject: "a\\\0b"\r\n${lines.to}` });
    expect(parseMessage(text)).toBeInstanceOf(SipMessage);
    const body = `${invite()
      .replace(/Content-Length: \d+/, "Content-Length: 3")
      .split("\r\n\r\n", 1)}\r\n\r\na\0b`;
    expect(parseMessage(body)).toMatchObject({ body: "a\0b" });
  });

  for (const [what, text, status, reason] of cases) {
    it(`with ${what} is refused with ${status}, and can be answered`, () => {
      const malformed = refused(text);
      expect(malformed).toMatchObject({ status, reason });
      expect(malformed.partial?.topVia.host).not.toBe("");
      expect(malformed.partial?.headers("via").length).toBeGreaterThan(0);
    });
  }

  const dropped: readonly [what: string, text: string][] = [
    ["nothing", ""],
    ["NULs", "\0".repeat(600)],
    ["random bytes", String.fromCharCode(...Array.from({ length: 900 }, (_, i) => (i * 73 + 19) % 256))],
    ["half a start line", "INVITE sip:100"],
    ["a start line only", "INVITE sip:100@h SIP/2.0\r\n"],
    ["half a Via", invite().slice(0, invite().indexOf("branch") + 3)],
    ["no Via", invite({ via: "" })],
    ["a Via without host", invite({ via: "Via: SIP/2.0/UDP ]]][[:::;;;" })],
    ["a method that is none", invite({ start: "IN<VITE sip:a@h SIP/2.0" })],
    ["more than 64 kB", invite({}, "x".repeat(65_536))],
    ["an ACK with anything wrong", invite({ start: "ACK sip:a@h SIP/2.0", cseq: "CSeq: x ACK" })],
  ];
  for (const [what, text] of dropped) {
    it(`that is ${what} is dropped`, () => {
      expect(refused(text).status).toBe(0);
    });
  }
});

describe("a response", () => {
  const response = (start: string, changes: Partial<Record<Line, string>> = {}) => invite({ start, ...changes });

  it("shows its status, and the method of its CSeq", () => {
    expect(parsed(response("SIP/2.0 183 Session Progress"))).toMatchObject({
      isRequest: false,
      method: "INVITE",
      requestUri: "",
      target: undefined,
      status: 183,
      reasonPhrase: "Session Progress",
    });
    expect(parsed(response("SIP/2.0 200"))).toMatchObject({ status: 200, reasonPhrase: "" });
  });

  for (const start of [
    "SIP/2.0 99999 Much",
    "SIP/2.0 700 X",
    "SIP/2.0 99 X",
    "SIP/2.0 OK",
    "SIP/3.0 200 OK",
    "SIP/2.0 ",
  ]) {
    it(`is dropped with the status line ${JSON.stringify(start)}`, () => {
      expect(refused(response(start)).status).toBe(0);
    });
  }

  it("is dropped when anything it is matched by is missing", () => {
    expect(refused(response("SIP/2.0 200 OK", { via: "" })).status).toBe(0);
    expect(refused(response("SIP/2.0 200 OK", { cseq: "" })).status).toBe(0);
    expect(refused(response("SIP/2.0 200 OK", { to: "To: <" })).status).toBe(0);
  });
});

describe("a message from the application", () => {
  it("needs no Via, CSeq or anything else, and its body is all that follows", () => {
    const message = parsed("OPTIONS sip:a@h SIP/2.0\r\nContent-Length: 99\r\nX: 1\r\n\r\nbody", { lenient: true });
    expect(message).toMatchObject({ method: "OPTIONS", body: "body", callId: "", cseq: -1, fromTag: "", branch: "" });
    expect(message.topVia.text).toBe("");
  });

  it("is refused when its lines could not be told apart on the wire", () => {
    expect(parseMessage("OPTIONS sip:a@h SIP/2.0\r\nX: 1\n2\r\n\r\n", { lenient: true })).toMatchObject({
      status: 400,
      reason: "Bare Carriage Return Or Line Feed",
    });
  });
});

describe("MessageWriter", () => {
  it("writes what parses to the same", () => {
    const text = MessageWriter.request("OPTIONS", "sip:a@h")
      .header("Via", "SIP/2.0/UDP h;branch=z")
      .header("From", "<sip:b@h>;tag=1")
      .header("To", "<sip:a@h>")
      .header("Call-ID", "c")
      .header("CSeq", "3 OPTIONS")
      .headers("Route", ["<sip:r1>", "<sip:r2>"])
      .body("v=0");
    const message = parsed(text);
    expect(message.text).toBe(text);
    expect(message).toMatchObject({ method: "OPTIONS", body: "v=0", cseq: 3 });
    expect(message.headers("route")).toEqual(["<sip:r1>", "<sip:r2>"]);
  });
});

describe("responseTo", () => {
  it("copies what every response copies, tags To and replaces the top Via", () => {
    const request = parsed(invite({ via: `${lines.via}\r\nVia: SIP/2.0/UDP second`, contact: "Timestamp: 5" }));
    const response = parsed(
      responseTo(request, 486, { toTag: "t1", topVia: `${request.topVia.text};received=1.1.1.1` }).body(),
    );
    expect(response).toMatchObject({ status: 486, reasonPhrase: "Busy Here", toTag: "t1", fromTag: "f1", cseq: 1 });
    expect(response.topVia.received).toBe("1.1.1.1");
    expect(response.headerValues("via")).toHaveLength(2);
    expect(response.header("timestamp")).toBeUndefined();
  });

  it("leaves a tag that is there alone, and none goes into a 100, which returns the Timestamp", () => {
    const tagged = parsed(invite({ to: "To: <sip:a@h>;tag=old" }));
    expect(responseTo(tagged, 200, { toTag: "new" }).body()).toContain("To: <sip:a@h>;tag=old\r\n");
    const trying = parsed(responseTo(parsed(invite({ contact: "Timestamp: 5" })), 100, { toTag: "t" }).body());
    expect(trying.toTag).toBe("");
    expect(trying.header("timestamp")).toBe("5");
  });

  it("answers a request that lacks headers with those that are there", () => {
    const text = responseTo(refused(invite({ to: "" })).partial ?? parsed(invite()), 400).body();
    expect(text).toContain("\r\nFrom: ");
    expect(text).not.toContain("\r\nTo: ");
  });
});
