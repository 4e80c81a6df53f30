import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseNameAddr } from "../../src/engine/message/name-addr.ts";
import { MalformedMessage, parseMessage, SipMessage } from "../../src/engine/message/sip-message.ts";

/** What the parser must make of a message: accept it, refuse it with a status, or drop it. */
type Verdict = "accepted" | 400 | 416 | 505 | "dropped";

/** Every message of RFC 4475: its section, the verdict, and why where the RFC leaves a choice. */
const verdicts: Readonly<Record<string, readonly [section: string, verdict: Verdict, why?: string]>> = {
  wsinv: ["3.1.1.1", "accepted"],
  intmeth: ["3.1.1.2", "accepted"],
  esc01: ["3.1.1.3", "accepted"],
  escnull: ["3.1.1.4", "accepted"],
  esc02: ["3.1.1.5", "accepted"],
  lwsdisp: ["3.1.1.6", "accepted"],
  longreq: ["3.1.1.7", "accepted"],
  dblreq: ["3.1.1.8", "accepted", "what follows the body in a datagram is ignored"],
  semiuri: ["3.1.1.9", "accepted"],
  transports: ["3.1.1.10", "accepted"],
  mpart01: ["3.1.1.11", "accepted"],
  unreason: ["3.1.1.12", "accepted"],
  noreason: ["3.1.1.13", "accepted"],
  badinv01: ["3.1.2.1", 400],
  clerr: ["3.1.2.2", 400],
  ncl: ["3.1.2.3", 400],
  scalar02: ["3.1.2.4", 400],
  scalarlg: ["3.1.2.5", "dropped"],
  quotbal: ["3.1.2.6", 400],
  ltgtruri: ["3.1.2.7", 400],
  lwsruri: ["3.1.2.8", 400],
  lwsstart: ["3.1.2.9", 400],
  trws: ["3.1.2.10", 400],
  escruri: ["3.1.2.11", 400],
  baddate: ["3.1.2.12", "accepted", "Date decides nothing here, so it may be odd"],
  regbadct: ["3.1.2.13", 400],
  badaspec: ["3.1.2.14", 400, "a B2BUA would pass the malformed address on"],
  baddn: ["3.1.2.15", 400, "a B2BUA would pass the malformed name on"],
  badvers: ["3.1.2.16", 505],
  mismatch01: ["3.1.2.17", 400],
  mismatch02: ["3.1.2.18", 400],
  bigcode: ["3.1.2.19", "dropped"],
  badbranch: ["3.2.1", "accepted", "the transaction layer matches it as RFC 2543 did"],
  insuf: ["3.3.1", 400],
  unkscm: ["3.3.2", 416],
  novelsc: ["3.3.3", 416],
  unksm2: ["3.3.4", "accepted", "what a scheme in To means is for the application to say"],
  bext01: ["3.3.5", "accepted", "420 is for the application to say"],
  invut: ["3.3.6", "accepted", "415 is for the application to say"],
  regaut01: ["3.3.7", "accepted"],
  multi01: ["3.3.8", 400],
  mcl01: ["3.3.9", 400],
  bcast: ["3.3.10", "accepted", "dropped later: it matches no transaction"],
  zeromf: ["3.3.11", "accepted", "483 is for the application to say"],
  cparam01: ["3.3.12", "accepted"],
  cparam02: ["3.3.13", "accepted"],
  regescrt: ["3.3.14", "accepted"],
  sdp01: ["3.3.15", "accepted", "406 is for the application to say"],
  inv2543: ["3.4.1", "accepted"],
};

const corpus = new URL("corpus/", import.meta.url);
const textOf = (name: string) => readFileSync(new URL(`${name}.dat`, corpus), "latin1");

function accepted(name: string): SipMessage {
  const message = parseMessage(textOf(name));
  if (message instanceof MalformedMessage) throw new Error(`${name}: ${message.reason}`);
  return message;
}

function verdictOf(message: SipMessage | MalformedMessage): number | string {
  if (message instanceof SipMessage) return "accepted";
  return message.status === 0 ? "dropped" : message.status;
}

describe("the torture messages of RFC 4475", () => {
  it("are all here", () => {
    const files = readdirSync(corpus).filter((name) => name.endsWith(".dat"));
    expect(files.map((name) => name.slice(0, -4)).sort()).toEqual(Object.keys(verdicts).sort());
    expect(files).toHaveLength(49);
  });

  for (const [name, [section, verdict, why]] of Object.entries(verdicts)) {
    it(`${section} ${name}: ${verdict}${why === undefined ? "" : ` (${why})`}`, () => {
      const message = parseMessage(textOf(name));
      expect(verdictOf(message)).toBe(verdict);
      if (message instanceof MalformedMessage && message.status !== 0) {
        expect(message.partial?.topVia.host, "a refusal knows where to go").not.toBe("");
      }
    });
  }
});

describe("valid torture messages are understood", () => {
  it("wsinv: folds, white space around separators, compact forms, leading zeros", () => {
    const message = accepted("wsinv");
    expect(message.method).toBe("INVITE");
    expect(message.target?.param("unknownparam")).toBe("");
    expect(message.cseq).toBe(9);
    expect(message.maxForwards).toBe(68);
    expect(message.callId).toBe("wsinv.ndaksdj@192.0.2.1");
    expect(message.fromTag).toBe("98asjd8");
    expect(message.toTag).toBe("1918181833n");
    expect(message.header("subject")).toBe("");
    expect(message.header("newfangledheader")).toBe("newfangled value continued newfangled value");
    expect(message.header("unknownheaderwithunusualvalue")).toBe(";;,,;;,;");
    expect(message.topVia).toMatchObject({ protocol: "UDP", host: "192.0.2.2", port: 0, branch: "390skdjuw" });
    expect(message.headerValues("via")).toHaveLength(3);
    expect(message.headerValues("contact").map((value) => parseNameAddr(value)?.param("newparam"))).toEqual([
      "newvalue",
    ]);
    expect(message.body).toHaveLength(150);
  });

  it("intmeth: every character the grammar allows", () => {
    const message = accepted("intmeth");
    expect(message.method).toBe("!interesting-Method0123456789_*+`.%indeed'~");
    expect(message.target).toMatchObject({
      user: "1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*",
      password: "&it+has=1,weird!*pas$wo~d_too.(doesn't-it)",
      host: "example.com",
    });
    expect(message.fromTag).toBe("_token~1'+`*%!-.");
    expect(message.branch).toBe("z9hG4bK-.!%66*_+`'~");
  });

  it("esc02: an escaped CR LF in a user part is no line end", () => {
    const message = accepted("esc02");
    expect(message.method).toBe("RE%47IST%45R");
    expect(message.headers("contact")).toHaveLength(2);
  });

  it("dblreq: the second request in the datagram is not part of the first", () => {
    const message = accepted("dblreq");
    expect(message.method).toBe("REGISTER");
    expect(message.body).toBe("");
    expect(message.text.endsWith("\r\n\r\n")).toBe(true);
  });

  it("semiuri: semicolons in a user part are no parameters", () => {
    const { target } = accepted("semiuri");
    expect(target).toMatchObject({ user: "user;par=u%40example.net", host: "example.com", params: "" });
  });

  it("transports: every Via, whatever transport it names", () => {
    expect(
      accepted("transports")
        .headerValues("via")
        .map((value) => value.slice(8, 13).trim()),
    ).toEqual(["UDP", "SCTP", "TLS", "UNKNO", "TCP"].map((name) => expect.stringContaining(name)));
  });

  it("mpart01: a binary body keeps every byte", () => {
    const message = accepted("mpart01");
    expect(message.body).toHaveLength(Number(message.header("content-length")));
    expect(message.body).toContain("\x82");
  });

  it("noreason and unreason: a status line with no reason phrase, and with one in UTF-8", () => {
    expect(accepted("noreason")).toMatchObject({ status: 100, reasonPhrase: "" });
    const { status, reasonPhrase } = accepted("unreason");
    expect(status).toBe(200);
    expect(Buffer.from(reasonPhrase, "latin1").toString("utf8")).toMatch(
      /^= 2\*\*3 \* 5\*\*2 но сто девяносто девять - простое$/,
    );
  });

  it("longreq: long names, values and many Vias", () => {
    const message = accepted("longreq");
    expect(message.callId).toMatch(/^longreq\.one(really)+longcallid$/);
    expect(message.headerValues("via").length).toBeGreaterThan(30);
  });
});

describe("a torture message cut anywhere", () => {
  for (const name of Object.keys(verdicts)) {
    it(`${name}: is never taken for whole before its body is, and never throws`, () => {
      const text = textOf(name);
      const whole = parseMessage(text);
      const length = whole instanceof SipMessage ? whole.text.length : text.length;
      for (let end = 0; end < text.length; end++) {
        const message = parseMessage(text.slice(0, end));
        const stated = message instanceof SipMessage ? message.header("content-length") : undefined;
        // Without a Content-Length a datagram's body ends where the datagram does (RFC 3261 section 18.3).
        if (message instanceof SipMessage && stated !== undefined) expect(end).toBeGreaterThanOrEqual(length);
      }
    });
  }
});
