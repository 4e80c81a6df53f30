import { describe, expect, it } from "vitest";
import { hostPort, parseHostPort, parseUri, uriScheme } from "../../src/engine/message/uri.ts";

describe("parseUri", () => {
  it("takes a SIP URI apart and writes it back as it was", () => {
    const text = "sip:alice:secret@atlanta.example.com:5070;transport=tcp;lr?subject=x";
    const uri = parseUri(text);
    expect(uri).toMatchObject({
      scheme: "sip",
      user: "alice",
      password: "secret",
      host: "atlanta.example.com",
      port: 5070,
      params: ";transport=tcp;lr",
      headers: "subject=x",
    });
    expect(uri?.param("transport")).toBe("tcp");
    expect(uri?.param("lr")).toBe("");
    expect(uri?.param("maddr")).toBeUndefined();
    expect(String(uri)).toBe(text);
  });

  it("knows an IPv6 host by its brackets and keeps them off", () => {
    const uri = parseUri("sip:[2001:db8::1]:5062;transport=udp");
    expect(uri).toMatchObject({ user: "", host: "2001:db8::1", port: 5062 });
    expect(String(uri)).toBe("sip:[2001:db8::1]:5062;transport=udp");
    expect(parseUri("sip:bob@[::1]")).toMatchObject({ user: "bob", host: "::1", port: 0 });
  });

  it("leaves semicolons, question marks and escapes in the user part alone", () => {
    expect(parseUri("sip:a;b?c%40@h")).toMatchObject({ user: "a;b?c%40", host: "h", params: "" });
  });

  it("minds no case in the scheme and in parameter names", () => {
    expect(parseUri("SIPS:a@h;Transport=TLS")).toMatchObject({ scheme: "sips", secure: true });
    expect(parseUri("sip:a@h;Transport=TLS")?.param("transport")).toBe("TLS");
  });

  for (const broken of [
    "",
    "sip:",
    "sip:@h",
    "sip:a@",
    "sip:a@h:0",
    "sip:a@h:99999",
    "sip:a@h:5060x",
    "sip:a@h:",
    "sip:;;;@@:::",
    "sip:1 0 0@h",
    "sip:a@h ",
    "sip:a@[::1",
    "sip:a@[]",
    "sip:a@[::1]5060",
    "sip:a@::1",
    "sip:a@b@c",
    "<sip:a@h>",
    "a@h",
    "tel:+49301234",
  ]) {
    it(`refuses ${JSON.stringify(broken)}`, () => {
      expect(parseUri(broken)).toBeUndefined();
    });
  }
});

describe("uriScheme", () => {
  it("is lower case, and empty when there is none", () => {
    expect(uriScheme("TEL:+1")).toBe("tel");
    expect(uriScheme("soap.beep://h")).toBe("soap.beep");
    expect(uriScheme("1a:b")).toBe("");
    expect(uriScheme("no scheme:x")).toBe("");
    expect(uriScheme("nothing")).toBe("");
  });
});

describe("host and port", () => {
  it("are read with and without a port, in both families", () => {
    expect(parseHostPort("10.0.0.1:5061")).toEqual({ host: "10.0.0.1", port: 5061 });
    expect(parseHostPort("pbx_1.example")).toEqual({ host: "pbx_1.example", port: 0 });
    expect(parseHostPort("[::ffff:10.0.0.1]:1")).toEqual({ host: "::ffff:10.0.0.1", port: 1 });
    expect(parseHostPort("a b")).toBeUndefined();
  });

  it("are written with brackets only where needed and without a port of 0", () => {
    expect(hostPort("::1", 5060)).toBe("[::1]:5060");
    expect(hostPort("[::1]", 0)).toBe("[::1]");
    expect(hostPort("h", 0)).toBe("h");
  });
});
