import { describe, expect, it } from "vitest";
import { codeOf, kindOf, lowerNameOf, UNKNOWN, wireName } from "../../src/engine/message/header-names.ts";
import { addressTag, checkNameAddr, parseNameAddr } from "../../src/engine/message/name-addr.ts";
import { paramIn, splitValues, withParam } from "../../src/engine/message/params.ts";
import { reasonPhrase } from "../../src/engine/message/reason-phrases.ts";
import { parseVia } from "../../src/engine/message/via.ts";

describe("parseNameAddr", () => {
  it("takes a name-addr apart", () => {
    const address = parseNameAddr('"Alice \\"A\\" <x>" <sip:a@h;lr>;tag=1;q="a;b" ; x');
    expect(address).toMatchObject({ display: '"Alice \\"A\\" <x>"', uri: "sip:a@h;lr", tag: "1" });
    expect(address?.param("q")).toBe('"a;b"');
    expect(address?.param("x")).toBe("");
    expect(address?.param("y")).toBeUndefined();
  });

  it("gives the parameters of an address without brackets to the header", () => {
    expect(parseNameAddr("sip:a@h ;tag = 7")).toMatchObject({ display: "", uri: "sip:a@h", tag: "7" });
  });

  it("accepts unquoted names beyond the grammar: UTF-8, parentheses, no space before the bracket", () => {
    expect(parseNameAddr("J\xc3\xb6rg (home)<sip:j@h>")).toMatchObject({
      display: "J\xc3\xb6rg (home)",
      uri: "sip:j@h",
    });
  });

  it("accepts any scheme", () => {
    expect(parseNameAddr("<tel:+4930>;tag=x")).toMatchObject({ uri: "tel:+4930", tag: "x" });
  });

  for (const broken of [
    "",
    "   ",
    "<>",
    "<sip:a@h",
    "<<<sip:a@h>",
    "< sip:a@h >",
    '"open <sip:a@h>',
    '"a" b <sip:a@h>',
    "a, b <sip:a@h>",
    "<sip:a@h>;;tag=1",
    "<sip:a@h>;",
    "<sip:a@h>tag=1",
    '<sip:a@h>;x="open',
    "<sip:a@h>;tag=",
    "sip:a@h?x=y",
    "sip:",
    "nonsense",
  ]) {
    it(`refuses ${JSON.stringify(broken)}, and so does the check without parsing`, () => {
      expect(parseNameAddr(broken)).toBeUndefined();
      expect(checkNameAddr(broken)).toBe(false);
      expect(addressTag(broken)).toBeUndefined();
    });
  }

  it("tells no tag from a malformed one", () => {
    expect(addressTag("<sip:a@h>")).toBe("");
    expect(addressTag("<sip:a@h>;tag=a.b-c")).toBe("a.b-c");
    expect(addressTag("<sip:a@h>;tag=a|b")).toBeUndefined();
  });
});

describe("parameters", () => {
  it("are found whatever the case and the white space, and not inside quotes", () => {
    expect(paramIn(";a=1 ; B = 2;c", "b")).toBe("2");
    expect(paramIn(";a=1 ; B = 2;c", "c")).toBe("");
    expect(paramIn(';a="x;b=9";b=3', "b")).toBe("3");
    expect(paramIn("", "b")).toBeUndefined();
  });

  it("are set in place, or appended", () => {
    expect(withParam("SIP/2.0/UDP h;rport;branch=z", "rport", "5")).toBe("SIP/2.0/UDP h;rport=5;branch=z");
    expect(withParam("SIP/2.0/UDP h; received = 1.1.1.1 ;x", "received", "2")).toBe("SIP/2.0/UDP h;received=2;x");
    expect(withParam("h", "a", "1")).toBe("h;a=1");
  });
});

describe("splitValues", () => {
  it("splits at commas outside quotes and angle brackets", () => {
    expect(splitValues('"a, b" <sip:x,y@h>, <sip:z@h;p=",">,, c ')).toEqual([
      '"a, b" <sip:x,y@h>',
      '<sip:z@h;p=",">',
      "c",
    ]);
    expect(splitValues("")).toEqual([]);
  });
});

describe("parseVia", () => {
  it("reads the first value only, with every parameter that Via defines", () => {
    const via = parseVia(
      "SIP/2.0/UDP 10.0.0.1:5061;branch=z9hG4bKx;rport;received=1.2.3.4;maddr=5.6.7.8;ttl=3, SIP/2.0/TCP b",
    );
    expect(via).toMatchObject({
      protocol: "UDP",
      host: "10.0.0.1",
      port: 5061,
      branch: "z9hG4bKx",
      rport: "",
      received: "1.2.3.4",
      maddr: "5.6.7.8",
      ttl: "3",
      wellFormed: true,
    });
    expect(via?.text).toBe("SIP/2.0/UDP 10.0.0.1:5061;branch=z9hG4bKx;rport;received=1.2.3.4;maddr=5.6.7.8;ttl=3");
  });

  it("bears white space everywhere and IPv6", () => {
    expect(parseVia("sip / 2.0 / tls   [2001:db8::1] : 5061 ; branch = b")).toMatchObject({
      protocol: "TLS",
      host: "2001:db8::1",
      port: 5061,
      branch: "b",
      rport: undefined,
      wellFormed: true,
    });
  });

  it("says of one with bad parameters or of another version where an answer should go, and that it is bad", () => {
    expect(parseVia("SIP/2.0/UDP h;;,;,,")).toMatchObject({ host: "h", wellFormed: false });
    expect(parseVia("SIP/7.0/UDP h")).toMatchObject({ host: "h", wellFormed: false });
  });

  for (const broken of [
    "",
    "SIP/2.0/UDP",
    "SIP/2.0/UDP ",
    "SIP/2.0 h",
    "SIP/2.0/UDP h:99999",
    "SIP/2.0/UDP ]][[;",
    "UDP h",
  ]) {
    it(`refuses ${JSON.stringify(broken)}`, () => {
      expect(parseVia(broken)).toBeUndefined();
    });
  }
});

describe("header names", () => {
  it("know compact forms and canonical spelling", () => {
    expect(lowerNameOf(codeOf("v"))).toBe("via");
    expect(codeOf("x-foo")).toBe(UNKNOWN);
    expect(wireName("call-id")).toBe("Call-ID");
    expect(wireName("i")).toBe("Call-ID");
    expect(wireName("x-trunk-group")).toBe("X-Trunk-Group");
    expect(wireName("cseq")).toBe("CSeq");
  });

  it("know which headers are lists and in which commas separate nothing", () => {
    expect(kindOf(codeOf("route"))).toBe("list");
    expect(kindOf(codeOf("www-authenticate"))).toBe("lines");
    expect(kindOf(codeOf("call-id"))).toBe("single");
  });
});

describe("reasonPhrase", () => {
  it("is the registered one, or one of the class for any other status", () => {
    expect(reasonPhrase(486)).toBe("Busy Here");
    expect(reasonPhrase(499)).toBe("Request Failure");
    expect(reasonPhrase(299)).toBe("Success");
  });
});
