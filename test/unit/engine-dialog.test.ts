import { describe, expect, it } from "vitest";
import {
  confirm,
  type Dialog,
  dialogId,
  refreshTarget,
  takeRequest,
  uacDialog,
  uasDialog,
} from "../../src/engine/dialog/dialog.ts";
import { nextHop, requestInDialog } from "../../src/engine/dialog/dialog-request.ts";
import { SentAcks } from "../../src/engine/dialog/sent-acks.ts";
import type { SipMessage } from "../../src/engine/message/sip-message.ts";
import { FakeFlow, message } from "./engine-transaction-support.ts";

const invite = (extra = "", uri = "sip:weir@127.0.0.1") =>
  message(`INVITE ${uri} SIP/2.0
Via: SIP/2.0/UDP 127.0.0.2:5080;branch=z9hG4bK-1
From: "Carol" <sip:carol@127.0.0.2>;tag=c
To: <sip:weir@127.0.0.1>
Call-ID: in@127.0.0.2
CSeq: 10 INVITE
${extra}Content-Length: 0`);

const answer = (status: number, extra = "", toTag = "b", method = "INVITE") =>
  message(`SIP/2.0 ${status} Whatever
Via: SIP/2.0/UDP 127.0.0.1:5060;branch=z9hG4bK-2
From: "Weir" <sip:alice@127.0.0.1>;tag=a
To: <sip:bob@127.0.0.2>;tag=${toTag}
Call-ID: out@127.0.0.1
CSeq: 7 ${method}
${extra}Content-Length: 0`);

const fromPeer = (method: string, cseq: number, extra = "") =>
  message(`${method} sip:127.0.0.1:5060 SIP/2.0
Via: SIP/2.0/UDP 127.0.0.2:5080;branch=z9hG4bK-3
From: <sip:bob@127.0.0.2>;tag=b
To: <sip:alice@127.0.0.1>;tag=a
Call-ID: out@127.0.0.1
CSeq: ${cseq} ${method}
${extra}Content-Length: 0`);

const contact = "Contact: <sip:bob@127.0.0.2:5080;transport=udp>;expires=60\n";
const via = "SIP/2.0/UDP 127.0.0.1:5060;branch=z9hG4bK-4";
const sent = (
  dialog: Dialog,
  method: string,
  options: Partial<Parameters<typeof requestInDialog>[1]> = {},
): SipMessage => message(requestInDialog(dialog, { method, via, ...options }).replace(/\r\n/g, "\n"));

describe("the dialog of an INVITE we answer (section 12.1.1)", () => {
  const recordRoutes = "Record-Route: <sip:p2;lr>, <sip:p1;lr>\nRecord-Route: <sip:p0;lr>\n";

  it("takes ids, parties, target, route set and sequence numbers from the request", () => {
    expect(uasDialog(invite(contact + recordRoutes), "w", 200)).toEqual({
      id: "in@127.0.0.2;from-tag=c",
      role: "uas",
      callId: "in@127.0.0.2",
      localTag: "w",
      remoteTag: "c",
      local: "<sip:weir@127.0.0.1>;tag=w",
      remote: '"Carol" <sip:carol@127.0.0.2>;tag=c',
      state: "confirmed",
      localSeq: -1,
      remoteSeq: 10,
      inviteSeq: -1,
      listener: "",
      localContact: "",
      remoteTarget: "sip:bob@127.0.0.2:5080;transport=udp",
      routeSet: ["<sip:p2;lr>", "<sip:p1;lr>", "<sip:p0;lr>"],
      path: "",
      secure: false,
    });
  });

  it("is early after a provisional response and confirmed by the 2xx", () => {
    const dialog = uasDialog(invite(contact), "w", 180);
    expect(dialog.state).toBe("early");
    confirm(dialog);
    expect(dialog.state).toBe("confirmed");
  });

  it("falls back on From when the request has no Contact", () => {
    expect(uasDialog(invite(), "w", 200).remoteTarget).toBe("sip:carol@127.0.0.2");
  });

  it("is secure by a SIPS Request-URI over TLS only", () => {
    expect(uasDialog(invite(contact, "sips:weir@127.0.0.1"), "w", 200, true).secure).toBe(true);
    expect(uasDialog(invite(contact, "sips:weir@127.0.0.1"), "w", 200, false).secure).toBe(false);
    expect(uasDialog(invite(contact), "w", 200, true).secure).toBe(false);
  });
});

describe("the dialog of an INVITE of ours (section 12.1.2)", () => {
  it("takes the route set in reverse from the response", () => {
    const response = answer(200, `${contact}Record-Route: <sip:p2;lr>, <sip:p1;lr>\n`);
    expect(uacDialog(response, "sip:bob@carrier")).toEqual({
      id: "out@127.0.0.1;from-tag=a",
      role: "uac",
      callId: "out@127.0.0.1",
      localTag: "a",
      remoteTag: "b",
      local: '"Weir" <sip:alice@127.0.0.1>;tag=a',
      remote: "<sip:bob@127.0.0.2>;tag=b",
      state: "confirmed",
      localSeq: 7,
      remoteSeq: -1,
      inviteSeq: 7,
      listener: "",
      localContact: "",
      remoteTarget: "sip:bob@127.0.0.2:5080;transport=udp",
      routeSet: ["<sip:p1;lr>", "<sip:p2;lr>"],
      path: "",
      secure: false,
    });
  });

  it("aims at our Request-URI until a Contact is known", () => {
    expect(uacDialog(answer(180), "sip:bob@carrier").remoteTarget).toBe("sip:bob@carrier");
  });

  it("takes route set and target anew from the 2xx (section 13.2.2.4)", () => {
    const dialog = uacDialog(answer(180, "Contact: <sip:early>\nRecord-Route: <sip:p1;lr>\n"), "sip:bob@carrier");
    expect(dialog).toMatchObject({ state: "early", remoteTarget: "sip:early", routeSet: ["<sip:p1;lr>"] });
    confirm(dialog, answer(200, `${contact}Record-Route: <sip:p3;lr>, <sip:p2;lr>\n`));
    expect(dialog).toMatchObject({
      state: "confirmed",
      listener: "",
      localContact: "",
      remoteTarget: "sip:bob@127.0.0.2:5080;transport=udp",
      routeSet: ["<sip:p2;lr>", "<sip:p3;lr>"],
      path: "",
    });
  });
});

describe("a dialog", () => {
  it("is plain data: written out and read back it goes on as before", () => {
    const dialog = uacDialog(answer(200, contact), "sip:bob@carrier");
    const restored = JSON.parse(JSON.stringify(dialog)) as Dialog;
    expect(restored).toEqual(dialog);
    expect(sent(restored, "BYE").text).toBe(sent(dialog, "BYE").text);
  });

  it("has the From tag of the request that made it in its id", () => {
    expect(dialogId("x@y", "t")).toBe("x@y;from-tag=t");
  });
});

describe("a request inside a dialog (section 12.2.1.1)", () => {
  const dialog = () => uacDialog(answer(200, contact), "sip:bob@carrier");

  it("is for the remote target, with the dialog's parties and the next sequence number", () => {
    const confirmed = dialog();
    const bye = sent(confirmed, "BYE");
    expect(bye.requestUri).toBe("sip:bob@127.0.0.2:5080;transport=udp");
    expect(bye.headerValues("via")).toEqual([via]);
    expect(bye.header("from")).toBe('"Weir" <sip:alice@127.0.0.1>;tag=a');
    expect(bye.header("to")).toBe("<sip:bob@127.0.0.2>;tag=b");
    expect(bye.callId).toBe("out@127.0.0.1");
    expect(bye.cseq).toBe(8);
    expect(bye.header("max-forwards")).toBe("70");
    expect(bye.headers("route")).toEqual([]);
    expect(sent(confirmed, "BYE").cseq).toBe(9);
  });

  it("begins to count at 1 when it is the callee's first", () => {
    expect(sent(uasDialog(invite(contact), "w", 200), "BYE").cseq).toBe(1);
  });

  it("bears what is added: Contact, header lines, body with its length, another Request-URI and hop limit", () => {
    const info = sent(dialog(), "INFO", {
      contact: "<sip:127.0.0.1:5060>",
      headers: "Content-Type: text/plain\r\nX-One: 1\r\n",
      requestUri: "sip:elsewhere@127.0.0.2",
      maxForwards: 12,
    });
    expect(info.requestUri).toBe("sip:elsewhere@127.0.0.2");
    expect(info.header("contact")).toBe("<sip:127.0.0.1:5060>");
    expect(info.header("content-type")).toBe("text/plain");
    expect(info.header("x-one")).toBe("1");
    expect(info.header("max-forwards")).toBe("12");
    const withBody = requestInDialog(dialog(), { method: "INFO", via, body: "a\r\nb" });
    expect(withBody.endsWith("Content-Length: 4\r\n\r\na\r\nb")).toBe(true);
  });

  it("takes the INVITE's number when it is an ACK, which uses none up", () => {
    const confirmed = dialog();
    expect(sent(confirmed, "ACK").cseq).toBe(7);
    expect(sent(confirmed, "INFO").cseq).toBe(8);
    expect(sent(confirmed, "INVITE").cseq).toBe(9);
    expect(sent(confirmed, "INFO").cseq).toBe(10);
    expect(sent(confirmed, "ACK").cseq).toBe(9);
  });

  it("goes by a route set of loose routers as Route lines, to the nearest", () => {
    const routed = uacDialog(
      answer(200, `${contact}Record-Route: <sip:p2:5090;lr>, <sip:p1;lr=on>\n`),
      "sip:bob@carrier",
    );
    const bye = sent(routed, "BYE");
    expect(bye.requestUri).toBe("sip:bob@127.0.0.2:5080;transport=udp");
    expect(bye.headers("route")).toEqual(["<sip:p1;lr=on>", "<sip:p2:5090;lr>"]);
    expect(nextHop(routed)).toBe("sip:p1;lr=on");
  });

  it("puts a strict router into the request line and the target last in the Route", () => {
    const routed = uacDialog(answer(200, `${contact}Record-Route: <sip:p2;lr>, <sip:p1:5070>\n`), "sip:bob@carrier");
    const bye = sent(routed, "BYE");
    expect(bye.requestUri).toBe("sip:p1:5070");
    expect(bye.headers("route")).toEqual(["<sip:p2;lr>", "<sip:bob@127.0.0.2:5080;transport=udp>"]);
    expect(nextHop(routed)).toBe("sip:p1:5070");
  });

  it("goes straight to the target without route set", () => {
    expect(nextHop(dialog())).toBe("sip:bob@127.0.0.2:5080;transport=udp");
    expect(nextHop(dialog(), "sip:elsewhere")).toBe("sip:elsewhere");
  });
});

describe("the peer's requests inside a dialog (section 12.2.2)", () => {
  it("pass with rising sequence numbers, gaps allowed, and are refused otherwise", () => {
    const dialog = uacDialog(answer(200, contact), "sip:bob@carrier");
    expect(takeRequest(dialog, fromPeer("INFO", 0))).toBe(true);
    expect(takeRequest(dialog, fromPeer("INFO", 5))).toBe(true);
    expect(takeRequest(dialog, fromPeer("INFO", 5))).toBe(false);
    expect(takeRequest(dialog, fromPeer("INFO", 4))).toBe(false);
    expect(takeRequest(dialog, fromPeer("ACK", 4))).toBe(true);
    expect(takeRequest(dialog, fromPeer("BYE", 6))).toBe(true);
  });

  it.each([
    ["INVITE", true],
    ["UPDATE", true],
    ["SUBSCRIBE", true],
    ["NOTIFY", true],
    ["INFO", false],
    ["MESSAGE", false],
    ["BYE", false],
  ])("%s moves the target: %s", (method, moves) => {
    const dialog = uacDialog(answer(200, contact), "sip:bob@carrier");
    refreshTarget(dialog, fromPeer(method, 1, "Contact: <sip:moved>\n"));
    expect(dialog.remoteTarget).toBe(moves ? "sip:moved" : "sip:bob@127.0.0.2:5080;transport=udp");
  });

  it("leave the target where it is without a Contact", () => {
    const dialog = uacDialog(answer(200, contact), "sip:bob@carrier");
    refreshTarget(dialog, fromPeer("INVITE", 1));
    expect(dialog.remoteTarget).toBe("sip:bob@127.0.0.2:5080;transport=udp");
  });
});

describe("responses to requests inside a dialog (section 12.2.1.2)", () => {
  it.each([
    [200, "INVITE", true],
    [200, "UPDATE", true],
    [200, "INFO", false],
    [183, "INVITE", false],
    [302, "INVITE", false],
    [488, "INVITE", false],
  ])("a %i to %s moves the target: %s", (status, method, moves) => {
    const dialog = uacDialog(answer(200, contact), "sip:bob@carrier");
    refreshTarget(dialog, answer(status, "Contact: <sip:moved>\n", "b", method));
    expect(dialog.remoteTarget === "sip:moved").toBe(moves);
  });
});

describe("the ACKs of an INVITE's 2xx responses (section 13.2.2.4)", () => {
  it("are sent again for each repetition, to each fork its own", () => {
    const acks = new SentAcks();
    const flow = new FakeFlow();
    expect(acks.repeat(answer(200))).toBe(false);
    acks.send("b", "ACK for b", flow);
    acks.send("fork", "ACK for fork", flow);
    expect(acks.repeat(answer(200))).toBe(true);
    expect(acks.repeat(answer(200, "", "fork"))).toBe(true);
    expect(acks.repeat(answer(200, "", "third"))).toBe(false);
    expect(flow.sent).toEqual(["ACK for b", "ACK for fork", "ACK for b", "ACK for fork"]);
  });
});
