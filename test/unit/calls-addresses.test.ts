import { describe, expect, it } from "vitest";
import type { Location } from "../../src/location.ts";
import { answer, CallBench } from "../support/call-bench.ts";

const location: Location = [1, 2, 3, 4, 5, 6].map((number) => ({
  host: `h${number}.example`,
  priority: number,
  weight: 0,
  endpoints: [{ protocol: "tcp", address: `192.0.2.${number}`, port: 5070 }],
}));

/** Calls to an agent known by name with so many addresses, and then to agent b. */
function bench(addresses: number): CallBench {
  const scene = new CallBench({
    agents: [{ hostname: "trunk.example", "ip-address": "", port: 0, "transport-method": "TCP" }, {}],
  });
  scene.agents.locate("trunk.example", location.slice(0, addresses));
  return scene;
}

const sentTo = ({ signalling }: CallBench): (string | undefined)[] =>
  signalling.all("INVITE").map(({ request }) => request.nextHop ?? request.uri);

const refused = { kind: "transport-failure", detail: "ECONNREFUSED" } as const;

describe("a call to an agent known by name", () => {
  it("bears the name in its URI and To, and is sent to the address", () => {
    const scene = bench(1);
    scene.invite();
    expect(scene.signalling.last("INVITE").request).toMatchObject({
      uri: "sip:100@trunk.example;transport=tcp",
      nextHop: "sip:192.0.2.1:5070;transport=tcp",
      headers: { to: "<sip:100@trunk.example>" },
    });
  });

  it("tries the next address within the same place where one refuses, and holds the place once", () => {
    const scene = bench(2);
    const caller = scene.invite();
    scene.signalling.last("INVITE").end(refused);
    expect(sentTo(scene)).toEqual(["sip:192.0.2.1:5070;transport=tcp", "sip:192.0.2.2:5070;transport=tcp"]);
    expect(scene.sessions).toEqual([1, 0]);
    expect(scene.agent("trunk.example").snapshot().totals.outbound).toBe(1);
    scene.signalling.last("INVITE").respond(200, { body: answer });
    expect(caller.last?.status).toBe(200);
    scene.ackFromCaller();
    scene.fromCaller("BYE");
    expect([scene.sessions, scene.defects]).toEqual([[0, 0], []]);
  });

  it("costs its caller first-response-timeout at a dead first address, and later callers nothing", () => {
    const scene = bench(2);
    scene.invite();
    scene.clock.advance(3_999);
    expect(scene.signalling.all("INVITE")).toHaveLength(1);
    scene.clock.advance(1);
    expect(scene.signalling.all("INVITE")).toHaveLength(2);
    expect([scene.sessions, scene.agent("trunk.example").letter]).toEqual([[1, 0], "I"]);
    scene.signalling.last("INVITE").respond(200, { body: answer });
    scene.invite({ headers: { "call-id": "in-2" } });
    expect(sentTo(scene).at(-1)).toBe("sip:192.0.2.2:5070;transport=tcp");
  });

  it("goes on at a 503 without Retry-After, and to another agent where the agent says when to come back", () => {
    const scene = bench(3);
    scene.invite();
    scene.signalling.last("INVITE").respond(503);
    expect(sentTo(scene).at(-1)).toBe("sip:192.0.2.2:5070;transport=tcp");
    scene.signalling.last("INVITE").respond(503, { headers: { "retry-after": "20" } });
    expect(sentTo(scene).at(-1)).toBe("sip:100@127.0.0.12:5060");
    expect(scene.sessions).toEqual([0, 1]);
  });

  it("ends at what the callee says, at any address", () => {
    const scene = bench(2);
    const caller = scene.invite();
    scene.signalling.last("INVITE").respond(486);
    expect([caller.last?.status, scene.signalling.all("INVITE").length, scene.sessions]).toEqual([486, 1, [0, 0]]);
  });

  it("tries four addresses of one agent, and then the next agent", () => {
    const scene = bench(6);
    scene.invite();
    for (let attempt = 0; attempt < 4; attempt++) scene.signalling.last("INVITE").end(refused);
    expect(sentTo(scene)).toHaveLength(5);
    expect([sentTo(scene).at(-1), scene.sessions]).toEqual(["sip:100@127.0.0.12:5060", [0, 1]]);
  });

  it("gives its place back once when the caller gives up at the second address", () => {
    const scene = bench(2);
    const caller = scene.invite();
    scene.clock.advance(4_000);
    caller.onCancel?.({});
    scene.signalling.last("INVITE").respond(487);
    scene.signalling.all("INVITE")[0]?.end({ kind: "timeout" });
    expect([scene.sessions, scene.defects, scene.calls.active]).toEqual([[0, 0], [], 0]);
  });

  it("hangs up on an address that answers after it was given up", () => {
    const scene = bench(2);
    scene.invite();
    scene.clock.advance(4_000);
    scene.signalling.all("INVITE")[0]?.respond(200, { body: answer });
    expect(scene.signalling.all("BYE")).toHaveLength(1);
    expect(scene.sessions).toEqual([1, 0]);
  });

  it("tells in its trace which address each attempt went to", () => {
    const scene = bench(2);
    scene.invite();
    scene.signalling.last("INVITE").end(refused);
    expect(scene.calls.list()[0]?.attempts).toMatchObject([
      { agent: "trunk.example", address: "192.0.2.1:5070", outcome: "transport-failure" },
      { agent: "trunk.example", address: "192.0.2.2:5070", outcome: "calling" },
    ]);
  });
});
