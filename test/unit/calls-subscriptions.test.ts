import { beforeEach, describe, expect, it } from "vitest";
import { CallBench } from "../support/call-bench.ts";
import { type FakeExchange, FakeRequest } from "../support/fake-signalling.ts";

const subscribe = (bench: CallBench, expires = "300", dialogId = ""): FakeRequest => {
  const headers = {
    "call-id": "sub-1",
    from: "<sip:alice@127.0.0.31>;tag=theirs",
    to: "<sip:100@127.0.0.2>",
    event: "presence",
    expires,
  };
  const request = new FakeRequest("SUBSCRIBE", { headers, dialogId });
  bench.calls.request(request);
  return request;
};

const callers = "sub-1;from-tag=theirs";

/** The dialog id that the engine gives what is sent under this Call-ID and tag. */
const agents = ({ request: { headers } }: FakeExchange): string =>
  `${headers["call-id"]};from-tag=${/;tag=(.+)$/.exec(headers.from ?? "")?.[1]}`;

describe("a subscription outside calls", () => {
  let bench: CallBench;
  const notifyIn = (dialogId: string, state: string): FakeRequest => {
    const headers = { event: "presence", "subscription-state": state };
    const request = new FakeRequest("NOTIFY", { headers, dialogId });
    bench.calls.request(request);
    return request;
  };
  const notify = (state: string): FakeRequest => notifyIn(agents(bench.signalling.last("SUBSCRIBE")), state);
  const ended = () => notify("active").last?.status === 481 && bench.calls.subscriptions.size === 0;

  beforeEach(() => {
    bench = new CallBench();
  });

  it("is over when its time is, and lasts as long as its refreshes are granted", () => {
    const asked = subscribe(bench);
    bench.signalling.last("SUBSCRIBE").respond(200, { headers: { expires: "60" } });
    expect(asked.statuses).toEqual([200]);
    bench.clock.advance(60_000);
    expect(bench.calls.subscriptions.size).toBe(1);
    const refreshed = subscribe(bench, "300", callers);
    expect(bench.signalling.last("SUBSCRIBE").request).toMatchObject({
      dialogId: agents(bench.signalling.sent[0] as FakeExchange),
    });
    bench.signalling.last("SUBSCRIBE").respond(200, { headers: { expires: "100" } });
    expect(refreshed.statuses).toEqual([200]);
    bench.clock.advance(131_999);
    expect(bench.calls.subscriptions.size).toBe(1);
    bench.clock.advance(1);
    expect(bench.calls.subscriptions.size).toBe(0);
    expect(bench.clock.pending).toBe(0);
  });

  it("holds a NOTIFY until the subscriber has its 2xx, and refuses what is held when there is none", () => {
    const asked = subscribe(bench);
    const early = notify("active");
    expect([early.statuses, bench.signalling.all("NOTIFY")]).toEqual([[], []]);
    bench.signalling.last("SUBSCRIBE").respond(202);
    expect(asked.statuses).toEqual([202]);
    expect(bench.signalling.last("NOTIFY").request.dialogId).toBe(callers);
    bench.signalling.last("NOTIFY").respond(200);
    expect(early.statuses).toEqual([200]);
    bench.calls.subscriptions.lost();
    subscribe(bench);
    const vain = notify("active");
    bench.signalling.last("SUBSCRIBE").respond(403);
    expect(vain.statuses).toEqual([481]);
  });

  it("is known by the agent that granted it, not by those that did not", () => {
    subscribe(bench);
    const first = bench.signalling.last("SUBSCRIBE");
    first.respond(503);
    const second = bench.signalling.last("SUBSCRIBE");
    expect([second === first, agents(second) === agents(first)]).toEqual([false, false]);
    second.respond(200);
    expect([notify("active").statuses, bench.calls.subscriptions.size]).toEqual([[], 1]);
    expect(bench.sessions).toEqual([0, 0]);
  });

  it.each([
    ["NOTIFY", 481],
    ["NOTIFY", 408],
    ["SUBSCRIBE", 481],
  ])("is over when %s is answered %i", (method, status) => {
    subscribe(bench);
    bench.signalling.last("SUBSCRIBE").respond(200);
    if (method === "NOTIFY") notify("active");
    else subscribe(bench, "300", callers);
    bench.signalling.last(method).respond(status);
    expect(bench.calls.subscriptions.size).toBe(0);
  });

  it("that is refused with a listed code takes the agent out of service, as a refused call does; a MESSAGE does not", () => {
    bench = new CallBench({ agents: [{ "out-service-response-codes": [{ from: 503, to: 503 }] }] });
    const state = () => bench.agents.get("a")?.snapshot().state.letter;
    bench.calls.request(new FakeRequest("MESSAGE", { headers: { from: "<sip:x@h>;tag=1", to: "<sip:100@h>" } }));
    bench.signalling.last("MESSAGE").respond(503);
    expect(state()).toBe("I");
    subscribe(bench);
    bench.signalling.last("SUBSCRIBE").respond(503);
    expect(state()).toBe("O");
  });

  it("that is over stays so, whatever is answered after it", () => {
    subscribe(bench);
    bench.signalling.last("SUBSCRIBE").respond(200);
    notify("active");
    const before = bench.signalling.last("NOTIFY");
    subscribe(bench, "0", callers);
    const unsubscribed = bench.signalling.last("SUBSCRIBE");
    notifyIn(agents(bench.signalling.sent[0] as FakeExchange), "terminated");
    bench.signalling.last("NOTIFY").respond(200);
    unsubscribed.respond(200, { headers: { expires: "0" } });
    expect([bench.calls.subscriptions.size, bench.clock.pending]).toEqual([0, 0]);
    // The next under the same Call-ID and tag is another.
    subscribe(bench);
    bench.signalling.last("SUBSCRIBE").respond(200);
    before.respond(408);
    expect(subscribe(bench, "300", callers).statuses).toEqual([]);
    expect(bench.signalling.last("SUBSCRIBE").request.dialogId).not.toBe("");
  });

  it("is not told of by an agent that was given up for another", () => {
    subscribe(bench);
    const first = bench.signalling.last("SUBSCRIBE");
    const vain = notify("active");
    first.respond(503);
    expect(vain.statuses).toEqual([481]);
    bench.signalling.last("SUBSCRIBE").respond(200);
    expect(bench.signalling.all("NOTIFY")).toEqual([]);
  });

  it.each(["INVITE", "BYE", "PRACK", "UPDATE", "INFO"])("is no call: %s within it is refused", (method) => {
    subscribe(bench);
    bench.signalling.last("SUBSCRIBE").respond(200);
    const sent = bench.signalling.sent.length;
    for (const dialogId of [callers, agents(bench.signalling.last("SUBSCRIBE"))]) {
      const request = new FakeRequest(method, { headers: { to: "<sip:100@127.0.0.2>;tag=1" }, dialogId });
      bench.calls.request(request);
      expect(request.statuses).toEqual([481]);
    }
    expect([bench.signalling.sent.length, bench.calls.subscriptions.size]).toEqual([sent, 1]);
  });

  it("passes no request on that has made all its hops", () => {
    subscribe(bench);
    bench.signalling.last("SUBSCRIBE").respond(200);
    const request = new FakeRequest("NOTIFY", {
      headers: { "subscription-state": "active", "max-forwards": "0" },
      dialogId: agents(bench.signalling.last("SUBSCRIBE")),
    });
    bench.calls.request(request);
    expect(request.statuses).toEqual([483]);
  });

  it("is over with its last NOTIFY, once that is answered", () => {
    subscribe(bench);
    bench.signalling.last("SUBSCRIBE").respond(200);
    const last = notify("terminated;reason=noresource");
    expect(bench.calls.subscriptions.size).toBe(1);
    bench.signalling.last("NOTIFY").respond(200);
    expect(last.statuses).toEqual([200]);
    expect(ended()).toBe(true);
  });

  it("that comes by two ways is one: the second is 482", () => {
    subscribe(bench);
    expect(subscribe(bench).statuses).toEqual([482]);
    expect(bench.signalling.all("SUBSCRIBE")).toHaveLength(1);
  });

  it("is lost with the engine for good, though it was only asked for", () => {
    subscribe(bench);
    bench.calls.disconnected();
    bench.clock.advance(4_000);
    expect(bench.signalling.all("SUBSCRIBE")).toHaveLength(2);
    bench.signalling.last("SUBSCRIBE").respond(200);
    expect([bench.calls.subscriptions.size, bench.clock.pending]).toEqual([0, 0]);
  });

  it("is lost with the engine, and refused while draining", () => {
    subscribe(bench);
    bench.signalling.last("SUBSCRIBE").respond(200);
    bench.calls.disconnected();
    expect(ended()).toBe(true);
    bench.calls.drain();
    expect(subscribe(bench).statuses).toEqual([503]);
  });
});
