import { describe, expect, it } from "vitest";
import { AgentEvents } from "../../src/agents/agent-events.ts";
import { AgentManager } from "../../src/agents/agent-manager.ts";
import type { AgentParams } from "../../src/agents/params.ts";
import type { PingOutcome } from "../../src/agents/pinger.ts";
import type { Outcome } from "../../src/signalling/port.ts";
import { SipPinger } from "../../src/signalling/sip-pinger.ts";
import { agentWith } from "../support/agents.ts";
import { FakeSignalling } from "../support/fake-signalling.ts";
import { ManualClock } from "../support/manual-clock.ts";

function scene(params: Partial<AgentParams> = {}, method = "OPTIONS") {
  const signalling = new FakeSignalling();
  const pinger = new SipPinger(signalling);
  const outcomes: PingOutcome[] = [];
  const agent = agentWith({ "ip-address": "192.0.2.1", port: 5070, ...params });
  pinger.ping({ params: agent, method, maxForwards: 0, timeoutMs: 0 }, (outcome) => outcomes.push(outcome));
  return { signalling, outcomes, sent: signalling.last(method) };
}

describe("a ping", () => {
  it("goes to the agent's address, with Max-Forwards, and names nobody unless it is told to", () => {
    const { sent } = scene();
    expect(sent.request).toMatchObject({
      method: "OPTIONS",
      uri: "sip:192.0.2.1:5070",
      dialogId: "",
      headers: { from: "<sip:localhost>", to: "<sip:192.0.2.1:5070>", "max-forwards": "0" },
    });
  });

  it("goes over the agent's transport and carries ping-from-user-part and ping-to-user-part", () => {
    const { sent } = scene({
      "ip-address": "2001:db8::1",
      "transport-method": "TCP",
      "ping-from-user-part": "weir",
      "ping-to-user-part": "ping",
    });
    expect(sent.request.uri).toBe("sip:ping@[2001:db8::1]:5070;transport=tcp");
    expect(sent.request.headers).toMatchObject({
      from: "<sip:weir@localhost>",
      to: "<sip:ping@[2001:db8::1]:5070>",
    });
  });

  it("goes to the name of an agent without an address", () => {
    expect(scene({ hostname: "carrier.example", "ip-address": "" }).sent.request.uri).toBe("sip:carrier.example:5070");
  });

  it.each<[string, Outcome, PingOutcome]>([
    ["timer F", { kind: "timeout" }, { kind: "timeout" }],
    [
      "a refused connection",
      { kind: "transport-failure", detail: "ECONNREFUSED" },
      { kind: "transport-failure", detail: "ECONNREFUSED" },
    ],
    [
      "a name without an address",
      { kind: "transport-failure", detail: "DNS Error", unresolved: true },
      { kind: "name-failure", detail: "DNS Error" },
    ],
    [
      "an address that is our own",
      { kind: "refused", cause: "loop", detail: "to myself" },
      { kind: "transport-failure", detail: "to myself" },
    ],
    ["no engine", { kind: "refused", cause: "disconnected", detail: "no socket" }, { kind: "not-sent" }],
  ])("that ends by %s says so", (_, outcome, expected) => {
    const { sent, outcomes } = scene();
    sent.end(outcome);
    expect(outcomes).toEqual([expected]);
  });

  it("is ended by its final response alone, whatever that is", () => {
    const { sent, outcomes } = scene();
    sent.respond(180);
    expect(outcomes).toEqual([]);
    sent.respond(483);
    expect(outcomes).toEqual([{ kind: "response", status: 483 }]);
  });

  it("is no news when the engine is lost, nor what still comes of it then", () => {
    const { signalling, sent, outcomes } = scene();
    signalling.lose();
    sent.respond(200);
    expect(outcomes).toEqual([{ kind: "not-sent" }]);
  });

  it("by INVITE rings for no longer than it must, and hangs up on an answer", () => {
    const { signalling, sent, outcomes } = scene({}, "INVITE");
    sent.respond(180);
    expect(sent.cancelled).toEqual({});
    sent.respond(200);
    expect(sent.acks).toHaveLength(1);
    expect(signalling.last("BYE").request.dialogId).toBe(sent.dialogId);
    expect(outcomes).toEqual([{ kind: "response", status: 200 }]);
  });
});

describe("an agent", () => {
  it("stays in service while there is no engine to ping it through, and takes no older ping for silence", () => {
    const clock = new ManualClock();
    const params = agentWith({ "ping-method": "OPTIONS", "ping-interval": 10, "ping-timeout": 2 });
    const manager = new AgentManager([params], { clock, random: () => 0.5, events: new AgentEvents() });
    const signalling = new FakeSignalling();
    manager.startPings(new SipPinger(signalling));
    clock.advance(5_000);
    signalling.lose();
    clock.advance(10_000);
    const refused = signalling.all("OPTIONS");
    expect(refused).toHaveLength(2);
    refused[1]?.end({ kind: "refused", cause: "disconnected", detail: "" });
    clock.advance(5_000);
    expect(manager.get(params.hostname)?.snapshot()).toMatchObject({ state: { letter: "I" }, lastPing: null });
    manager.stop();
  });
});
