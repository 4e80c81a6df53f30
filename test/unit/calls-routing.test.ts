import { describe, expect, it } from "vitest";
import type { HeaderRule } from "../../src/config/header-rules.ts";
import { answer, type BenchOptions, CallBench } from "../support/call-bench.ts";
import { policyWith } from "../support/routing.ts";

const headerRule = (more: Partial<HeaderRule>): HeaderRule => ({
  action: "add",
  header: "X-Trunk",
  value: "",
  pattern: "",
  messages: "all",
  ...more,
});

describe("a 3xx from an agent", () => {
  it("is passed back with our own address in its Contacts", () => {
    const bench = new CallBench();
    const caller = bench.invite();
    bench.signalling.last("INVITE").respond(302, { headers: { contact: "<sip:200@192.0.2.7:5070>;q=0.5, <sip:h>" } });
    expect(caller.replies).toMatchObject([{ status: 302, headers: { contact: "<sip:200@localhost>;q=0.5" } }]);
    expect(bench.signalling.all("INVITE")).toHaveLength(1);
    expect(bench.sessions).toEqual([0, 0]);
  });

  it("is followed to its Contacts in order of q where redirect-action says so", () => {
    const bench = new CallBench({ agents: [{ "redirect-action": "recurse" }, {}] });
    const caller = bench.invite();
    const contact = "<sip:200@192.0.2.7:5070;transport=tcp>;q=0.5, <sip:300@127.0.0.12>;q=0.9";
    bench.signalling.last("INVITE").respond(302, { headers: { contact } });
    expect(bench.signalling.last("INVITE").request.uri).toBe("sip:300@127.0.0.12:5060");
    expect(bench.signalling.last("INVITE").request.headers.to).toBe("<sip:100@127.0.0.12:5060>");
    expect(bench.sessions).toEqual([0, 1]);
    bench.signalling.last("INVITE").respond(503);
    expect(bench.signalling.last("INVITE").request.uri).toBe("sip:200@192.0.2.7:5070;transport=tcp");
    bench.signalling.last("INVITE").respond(200, { body: answer });
    expect(caller.statuses).toEqual([200]);
    expect(bench.sessions).toEqual([0, 0]);
  });

  it("that leads in a circle is a loop: 482", () => {
    const bench = new CallBench({ failover: { "redirect-action": "recurse" } });
    const caller = bench.invite();
    bench.signalling.last("INVITE").respond(302, { headers: { contact: "<sip:100@127.0.0.12>" } });
    bench.signalling.last("INVITE").respond(302, { headers: { contact: "<sip:100@127.0.0.11>" } });
    expect(bench.signalling.all("INVITE")).toHaveLength(2);
    expect(caller.statuses).toEqual([482]);
    expect(bench.calls.active).toBe(0);
  });

  it("that leads to ourselves is one too, once there is nowhere else", () => {
    const bench = new CallBench({ agents: [{}], failover: { "redirect-action": "recurse" } });
    const caller = bench.invite();
    bench.signalling.last("INVITE").respond(302, { headers: { contact: "<sip:100@127.0.0.2>" } });
    bench.signalling.last("INVITE").end({ kind: "refused", cause: "loop", detail: "myself" });
    expect(caller.statuses).toEqual([482]);
  });

  it("is never followed after the caller's CANCEL", () => {
    const bench = new CallBench({ failover: { "redirect-action": "recurse" } });
    const caller = bench.invite();
    caller.onCancel?.({});
    bench.signalling.last("INVITE").respond(302, { headers: { contact: "<sip:300@127.0.0.12>" } });
    expect(bench.signalling.all("INVITE")).toHaveLength(1);
    expect(bench.calls.active).toBe(0);
  });
});

describe("header rules", () => {
  const sets = [
    { id: "in", rules: [headerRule({ action: "remove", header: "x-secret" })] },
    {
      id: "out",
      rules: [
        headerRule({ value: "weir", messages: "requests" }),
        headerRule({ action: "replace", header: "User-Agent", pattern: "^(\\w+)/.*", value: "$1" }),
        headerRule({ action: "replace", header: "Not-There", value: "x" }),
        headerRule({ action: "remove", header: "Privacy", pattern: "none" }),
      ],
    },
  ];
  const rules = { "header-rules": sets };
  const agent = { "in-header-rules": "in", "out-header-rules": "out" };

  it("of the agent change what it is sent and what comes from it, names in any case", () => {
    const bench = new CallBench({ agents: [agent], rules });
    const caller = bench.invite({ headers: { "user-agent": "Phone/1.0", "X-Secret": "1", privacy: "id" } });
    const sent = bench.signalling.last("INVITE");
    expect(sent.request.headers).toMatchObject({
      "X-Trunk": "weir",
      "user-agent": "Phone",
      "X-Secret": "1",
      privacy: "id",
    });
    expect(sent.request.headers).not.toHaveProperty("Not-There");
    sent.respond(180, { headers: { "X-Secret": "2", server: "s" } });
    sent.respond(200, { body: answer, headers: { "X-Secret": "3", server: "s" } });
    expect(caller.replies.map(({ headers }) => headers)).toEqual([{ server: "s" }, { server: "s" }]);
  });

  it("change a field under every spelling of its name that a message has", () => {
    const bench = new CallBench({ agents: [agent], rules });
    const caller = bench.invite({ headers: { "User-Agent": "A/1", "user-agent": "B/1" } });
    const sent = bench.signalling.last("INVITE");
    expect(sent.request.headers).toMatchObject({ "User-Agent": "A", "user-agent": "B" });
    sent.respond(180, { headers: { "X-Secret": "1", "x-secret": "2", "X-SECRET": "3", server: "s" } });
    expect(caller.replies.map(({ headers }) => headers)).toEqual([{ server: "s" }]);
  });

  it("are applied within the dialog as well, both ways, to requests and to responses", () => {
    const bench = new CallBench({ agents: [agent], rules });
    bench.talk();
    bench.fromCaller("INFO", { headers: { privacy: "none" } });
    const info = bench.signalling.last("INFO");
    expect(info.request.headers).toMatchObject({ "X-Trunk": "weir" });
    expect(info.request.headers).not.toHaveProperty("privacy");
    const fromAgent = bench.fromAgent("INFO", { headers: { "x-secret": "4", subject: "s" } });
    expect(bench.signalling.last("INFO").request.headers).not.toHaveProperty("x-secret");
    bench.signalling.last("INFO").respond(200, { headers: { "user-agent": "Phone/2" } });
    expect(fromAgent.replies[0]?.headers).toMatchObject({ "user-agent": "Phone" });
    expect(fromAgent.replies[0]?.headers).not.toHaveProperty("X-Trunk");
    bench.fromCaller("INVITE", { body: "v=0", headers: {} });
    expect(bench.signalling.last("INVITE").request.headers).toMatchObject({ "X-Trunk": "weir" });
    bench.signalling.last("INVITE").respond(488);
    bench.fromCaller("BYE");
    expect(bench.signalling.last("BYE").request.headers).toMatchObject({ "X-Trunk": "weir" });
  });

  it("of a caller that is an agent are its own: in what it sends, out what it is told", () => {
    const bench = new CallBench({ agents: [{}, agent], rules });
    const source = { protocol: "udp", address: "127.0.0.12", port: 5060 };
    const caller = bench.invite({ source, headers: { "x-secret": "1" } });
    expect(bench.signalling.last("INVITE").request.headers).not.toHaveProperty("x-secret");
    bench.signalling.last("INVITE").respond(486, { headers: { "user-agent": "Phone/3" } });
    expect(caller.replies).toMatchObject([{ status: 486, headers: { "user-agent": "Phone" } }]);
  });

  it("leave our own refusals alone", () => {
    const bench = new CallBench({ agents: [agent], rules });
    bench.agent("a").setAdmin("disabled");
    expect(bench.invite().replies).toMatchObject([{ status: 503, headers: {} }]);
  });
});

describe("a call's route", () => {
  it("is in its record from its first attempt on, with who was passed over and why", () => {
    const bench = new CallBench({ agents: [{ "max-outbound-sessions": 1 }, {}] });
    bench.invite({ headers: { "call-id": "first" } });
    bench.invite({ headers: { "call-id": "second" } });
    expect(bench.calls.list()[1]).toMatchObject({
      agent: { name: "b" },
      attempts: [{ agent: "b", group: "g" }],
      route: {
        policies: [{ policy: "local-policies[0]", "next-hop": "SAG:g" }],
        skipped: [{ agent: "a", why: "C: max-outbound-sessions 1/1" }],
      },
    });
  });

  it("is in the line of its end, in short", () => {
    const bench = new CallBench({ agents: [{ "max-outbound-sessions": 1 }, {}] });
    bench.invite({ headers: { "call-id": "first" } });
    bench.invite({ headers: { "call-id": "second" } });
    bench.signalling.last("INVITE").respond(486);
    expect(bench.logged.find(({ end }) => end === "rejected")).toMatchObject({
      policy: "local-policies[0]",
      skipped: ["a C max-outbound-sessions 1/1"],
    });
  });

  describe("names the policy of each attempt, and in the line of the end that of the last", () => {
    const policies = [policyWith("100", "a"), policyWith("100", "b"), policyWith("100", "SAG:g")];
    const ended = (options: BenchOptions, run: (bench: CallBench) => void) => {
      const bench = new CallBench({ policies, ...options });
      run(bench);
      const line = bench.logged.find(({ msg }) => msg === "call ended");
      const attempts = line?.attempts as { readonly agent: string; readonly policy: string }[];
      return [line?.policy, ...attempts.map(({ agent, policy }) => `${agent} ${policy}`)];
    };
    const answers = (bench: CallBench, ...statuses: number[]) => {
      bench.invite();
      for (const status of statuses) bench.signalling.last("INVITE").respond(status);
    };

    it("where the first that matches has nobody to ask", () => {
      const out = (bench: CallBench) => {
        bench.agent("a").setAdmin("disabled");
        answers(bench, 486);
      };
      expect(ended({}, out)).toEqual(["local-policies[1]", "b local-policies[1]"]);
    });

    it("where the attempts of those before it have failed", () => {
      expect(ended({ agents: [{}, {}, {}] }, (bench) => answers(bench, 503, 503, 486))).toEqual([
        "local-policies[2]",
        "a local-policies[0]",
        "b local-policies[1]",
        "c local-policies[2]",
      ]);
    });

    it("where a Contact is followed, that of the agent that named it", () => {
      const follows = (bench: CallBench) => {
        answers(bench, 503);
        bench.signalling.last("INVITE").respond(302, { headers: { contact: "<sip:100@192.0.2.9>" } });
        bench.signalling.last("INVITE").respond(486);
      };
      expect(ended({ failover: { "redirect-action": "recurse" } }, follows)).toEqual([
        "local-policies[1]",
        "a local-policies[0]",
        "b local-policies[1]",
        "sip:100@192.0.2.9 local-policies[1]",
      ]);
    });

    it("where all are held by a Retry-After, that by which the one that is asked is found", () => {
      const held = (bench: CallBench) => {
        for (const name of ["a", "b"]) {
          bench.agent(name).observe({ kind: "response", purpose: "traffic", status: 503, retryAfterS: 30 });
          bench.clock.advance(1_000);
        }
        answers(bench, 486);
      };
      expect(ended({}, held)).toEqual(["local-policies[1]", "b local-policies[1]"]);
    });

    it("where nobody was asked, the first that matches", () => {
      const out = (bench: CallBench) => {
        for (const name of ["a", "b"]) bench.agent(name).setAdmin("disabled");
        answers(bench);
      };
      expect(ended({}, out)).toEqual(["local-policies[0]"]);
    });
  });
});

describe("an attempt that is over", () => {
  it.each<[string, (bench: CallBench) => void]>([
    ["rejected", (bench) => bench.signalling.last("INVITE").respond(503)],
    ["timed out", (bench) => bench.signalling.last("INVITE").end({ kind: "timeout" })],
    ["not sent", (bench) => bench.signalling.last("INVITE").end({ kind: "transport-failure", detail: "refused" })],
    ["silent", (bench) => bench.clock.advance(4_000)],
  ])("leaves no timer behind: %s", (_, fail) => {
    const bench = new CallBench({ agents: [{ "time-to-resume": 30 }, {}] });
    const before = bench.clock.pending;
    bench.invite();
    fail(bench);
    bench.signalling.last("INVITE").respond(200, { body: answer });
    bench.ackFromCaller();
    bench.fromCaller("BYE");
    // An agent out of service waits for its time-to-resume.
    const out = bench.agent("a").letter === "O" ? 1 : 0;
    expect(bench.clock.pending - before).toBe(out);
  });
});
