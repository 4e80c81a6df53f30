import { describe, expect, it } from "vitest";
import type { AgentParams } from "../../src/agents/params.ts";
import type { CallSnapshot } from "../../src/calls/record.ts";
import { page } from "../../src/cli/demo-page.ts";
import { Screen } from "../../src/cli/demo-screen.ts";
import { loadConfig } from "../../src/config/load.ts";
import { DemoCallers, type Habits } from "../../src/demo/callers.ts";
import { DemoCarrier } from "../../src/demo/carrier.ts";
import { carriers, configuration } from "../../src/demo/cast.ts";
import type {
  ExchangeUser,
  IncomingRequest,
  IncomingResponse,
  OutgoingRequest,
  Reply,
  Signalling,
} from "../../src/signalling/port.ts";
import { ManualClock } from "../support/manual-clock.ts";

function incoming(method: string, dialogId = ""): IncomingRequest & { readonly replies: Reply[] } {
  const replies: Reply[] = [];
  return {
    method,
    uri: "sip:15551000@127.0.0.1",
    dialogId,
    source: { protocol: "udp", address: "127.0.0.1", port: 5060 },
    receivedOn: "",
    headers: {},
    body: "",
    onCancel: undefined,
    replies,
    respond: (reply) => void replies.push(reply),
  };
}

const statuses = (request: { readonly replies: readonly Reply[] }): number[] =>
  request.replies.map(({ status }) => status);

describe("a carrier of the demo", () => {
  const carrier = (clock: ManualClock, refused = 0): DemoCarrier =>
    new DemoCarrier({ postDialDelay: 1_000, ringing: 2_000, refused }, { clock, random: () => 0.5 });

  it("rings after its post-dial delay and answers after ringing", () => {
    const clock = new ManualClock();
    const invite = incoming("INVITE");
    carrier(clock).invite(invite);
    clock.advance(999);
    expect(statuses(invite)).toEqual([]);
    clock.advance(1);
    expect(statuses(invite)).toEqual([180]);
    clock.advance(2_000);
    expect(statuses(invite)).toEqual([180, 200]);
    expect(invite.replies[1]?.body).toContain("m=audio");
  });

  it("says nothing more once the call is cancelled", () => {
    const clock = new ManualClock();
    const invite = incoming("INVITE");
    carrier(clock).invite(invite);
    clock.advance(1_500);
    invite.onCancel?.({});
    clock.advance(10_000);
    expect(statuses(invite)).toEqual([180]);
    expect(clock.pending).toBe(0);
  });

  it("refuses its share of calls with 503", () => {
    const invite = incoming("INVITE");
    carrier(new ManualClock(), 0.6).invite(invite);
    expect(statuses(invite)).toEqual([503]);
  });
});

describe("the callers of the demo", () => {
  const habits: Habits = { rate: () => 1, shortestTalk: 3_000, longestTalk: 3_000, patience: 5_000 };

  /** One caller's calls on a signalling that only writes down what is sent. */
  function scene() {
    const clock = new ManualClock();
    const sent: { request: OutgoingRequest; user: ExchangeUser; cancelled: boolean }[] = [];
    const signalling: Signalling = {
      connected: true,
      showsTrying: true,
      takesRoute: true,
      takesStar: true,
      engineCounters: undefined,
      start: async () => {},
      stop: async () => {},
      whenLost: () => {},
      knowAgents: () => {},
      send: (request, user) => {
        const entry = { request, user, cancelled: false };
        sent.push(entry);
        return {
          cancel: () => {
            entry.cancelled = true;
          },
        };
      },
    };
    // 1 - 1/e, so that the exponential gap between two calls is exactly one second.
    const callers = new DemoCallers(signalling, "127.0.0.1:5060", habits, { clock, random: () => 1 - 1 / Math.E });
    const end = (index: number, status: number): { acks: number } => {
      const seen = { acks: 0 };
      const response: IncomingResponse = {
        status,
        reason: "",
        headers: {},
        body: "",
        dialogId: `dialog-${index}`,
        reliable: false,
        ack: () => {
          seen.acks++;
        },
      };
      sent[index]?.user.final({ kind: "response", response });
      return seen;
    };
    const methods = (): string[] => sent.map(({ request }) => request.method);
    return { clock, sent, callers, end, methods };
  }

  it("place calls at the rate of the moment", () => {
    const { clock, callers, methods } = scene();
    callers.start();
    clock.advance(2_500);
    expect(methods()).toEqual(["INVITE", "INVITE"]);
    expect(callers.counts.placed).toBe(2);
  });

  it("acknowledge an answer, talk, and hang up", () => {
    const { clock, sent, callers, end, methods } = scene();
    callers.start();
    clock.advance(1_000);
    expect(end(0, 200).acks).toBe(1);
    callers.stop();
    expect(methods()).toEqual(["INVITE", "BYE"]);
    expect(sent[1]?.request.dialogId).toBe("dialog-0");
    expect(callers.active).toBe(1);
    end(1, 200);
    expect(callers.active).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it("hang up once, when the talk is over", () => {
    const { clock, callers, end, methods } = scene();
    callers.start();
    clock.advance(1_000);
    end(0, 200);
    clock.advance(3_000);
    expect(methods().filter((method) => method === "BYE")).toHaveLength(1);
    callers.stop();
    expect(methods().filter((method) => method === "BYE")).toHaveLength(1);
  });

  it("give up when it rings for longer than their patience, and count that apart from a refusal", () => {
    const { clock, sent, callers, end } = scene();
    callers.start();
    clock.advance(1_000);
    clock.advance(5_000);
    expect(sent[0]?.cancelled).toBe(true);
    end(0, 487);
    end(1, 503);
    expect(callers.counts.cancelled).toBe(1);
    expect(callers.counts.refused).toEqual(new Map([[503, 1]]));
  });

  it("answer a BYE and forget the call", () => {
    const { clock, callers, end } = scene();
    callers.start();
    clock.advance(1_000);
    end(0, 200);
    const bye = incoming("BYE", "dialog-0");
    callers.request(bye);
    callers.stop();
    expect(statuses(bye)).toEqual([200]);
    expect(callers.active).toBe(0);
  });
});

describe("the screen of the demo", () => {
  function terminal(isTTY: boolean) {
    const written: string[] = [];
    return { written, isTTY, rows: 4, columns: 20, write: (text: string) => written.push(text) };
  }

  it("writes plain pages one below the other where there is no terminal", () => {
    const out = terminal(false);
    const screen = new Screen(out);
    screen.show(["one", "two"]);
    screen.close(["end"]);
    expect(out.written.join("")).toBe("one\ntwo\n\nend\n");
  });

  it("keeps to the size of a terminal, and gives it back as it was", () => {
    const out = terminal(true);
    const screen = new Screen(out);
    screen.show(["a line that is too long for it", "second", "third", "fourth", "fifth"]);
    screen.close(["end"]);
    const text = out.written.join("");
    expect(text).toContain("a line that is too \x1b[K\n");
    expect(text).toContain("third");
    expect(text).not.toContain("fourth");
    expect(text.endsWith("\x1b[?25h\x1b[?1049lend\n")).toBe(true);
  });
});

describe("the configuration of the demo", () => {
  it("is valid, with one agent for the callers and one for each carrier", () => {
    const text = configuration({
      weirPort: 5060,

      callersPort: 5070,
      carrierPorts: [5071, 5072, 5073, 5074],
    });
    const loaded = loadConfig(text, "demo.yaml", {});
    expect("errors" in loaded ? loaded.errors : []).toEqual([]);
    expect(loaded.warnings).toEqual([]);
    const agents: readonly AgentParams[] = "config" in loaded ? loaded.config["session-agents"] : [];
    expect(agents.map(({ hostname, port }) => `${hostname}:${port}`)).toEqual([
      "callers:5070",
      ...carriers.map(({ hostname }, index) => `${hostname}:${5071 + index}`),
    ]);
  });
});

describe("the page of the demo", () => {
  it("tells time, calls and where each call is, and hides all but the newest", () => {
    const now = Date.parse("2024-05-01T10:00:10Z");
    const call = (number: number): CallSnapshot => ({
      id: `${number}`,
      state: "confirmed",
      caller: {
        callId: `call-${number}`,
        from: "<sip:caller@127.0.0.1>",
        to: `<sip:1555${number}@127.0.0.1>`,
        source: { protocol: "udp", address: "127.0.0.1", port: 5070 },
      },
      agent: { name: "wide", callId: "b" },
      started: "2024-05-01T10:00:05Z",
      answered: null,
      expires: null,
      route: { policies: [], skipped: [] },
      attempts: [
        { agent: "moody", callId: "a", outcome: "503" },
        { agent: "wide", callId: "b", outcome: "200" },
      ],
    });
    const calls = Array.from({ length: 17 }, (_, index) => call(index + 100));
    const counts = { placed: 20, answered: 17, cancelled: 1, refused: new Map([[503, 2]]), lost: 0 };
    const lines = page("Weir", { now, elapsed: 65_000, agents: [], calls, counts });
    expect(lines[1]).toBe("0:01:05   17 calls now   20 placed, 17 answered, 1 given up, 2 refused with 503, 0 lost");
    expect(lines).toContain("1555116  confirmed  wide   0:00:05  moody 503");
    expect(lines.at(-1)).toBe("and 2 more");
    expect(lines.join("\n")).not.toContain("1555101");
  });
});
