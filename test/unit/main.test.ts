import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { WeirError } from "../../src/errors.ts";
import { startWeir, Weir } from "../../src/main.ts";
import { FakeRequest, FakeSignalling } from "../support/fake-signalling.ts";
import { ManualClock } from "../support/manual-clock.ts";

const yaml = `
session-agents:
  - { hostname: carrier-a, ip-address: 127.0.0.11, port: 5071, max-outbound-sessions: 5 }
session-agent-groups: [{ group-name: carriers, dest: [carrier-a] }]
local-policies: [{ policy-attributes: [{ next-hop: SAG:carriers }] }]
admin: { listen: "127.0.0.1:0" }
drain: { timeout: 20 }
`;

function configOf(text: string) {
  const loaded = loadConfig(text, "weir.yaml", {});
  if (!("config" in loaded)) throw new Error(`not valid: ${JSON.stringify(loaded.errors)}`);
  return loaded.config;
}

const log = pino({ level: "silent" });
let clock: ManualClock;
let weir: Weir | undefined;

/** Stops at once: only the time for the last messages has to go by. */
async function stop(): Promise<void> {
  const stopped = weir?.stop();
  clock.advance(1_000);
  await stopped;
}

afterEach(stop);

async function start() {
  const signalling = new FakeSignalling();
  clock = new ManualClock();
  weir = await startWeir(configOf(yaml), { log, clock, random: () => 0, signalling });
  const running = weir;
  const get = async (path: string) => {
    const response = await fetch(running.adminUrl + path);
    return { status: response.status, json: JSON.parse(await response.text()) };
  };
  const invite = () => {
    const headers = {
      "call-id": `in-${Math.random()}`,
      from: "<sip:alice@127.0.0.31>;tag=1",
      to: "<sip:100@127.0.0.2>",
      cseq: "1 INVITE",
      contact: "<sip:alice@127.0.0.31>",
      "max-forwards": "70",
    };
    const request = new FakeRequest("INVITE", { headers });
    running.calls.invite(request);
    // The agent rings, so that its silence does not end the call.
    if (request.replies.every(({ status }) => status < 300)) signalling.last("INVITE").respond(180);
    return request;
  };
  return { running, signalling, get, invite };
}

/** Lets promises that are due run on. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Whether a promise has come to its end. */
function watch(promise: Promise<void>): { done: boolean } {
  const state = { done: false };
  void promise.then(() => {
    state.done = true;
  });
  return state;
}

describe("a running Weir", () => {
  it("sends a call to the agent of its group, and shows both", async () => {
    const { signalling, get, invite } = await start();
    invite();
    expect(signalling.last("INVITE").request.uri).toContain("127.0.0.11:5071");
    expect((await get("/v1/calls")).json.calls).toHaveLength(1);
    expect((await get("/v1/agents/carrier-a")).json.sessions.outbound).toEqual({ active: 1, maximum: 5 });
    expect((await get("/v1/groups")).json.groups).toEqual([
      { "group-name": "carriers", strategy: "hunt", members: [{ agent: "carrier-a", state: "I" }] },
    ]);
  });

  it("is ready only while it has an engine", async () => {
    const { signalling, get } = await start();
    expect((await get("/readyz")).status).toBe(200);
    signalling.connected = false;
    expect(await get("/readyz")).toMatchObject({ status: 503, json: { missing: ["signalling engine"] } });
  });
});

describe("a draining Weir", () => {
  it("refuses new calls, is not ready, and stops when the last call has ended", async () => {
    const { running, signalling, get, invite } = await start();
    const call = invite();
    const drained = watch(running.drain());
    const late = invite();
    expect(late.statuses).toEqual([503]);
    expect(late.last?.headers["retry-after"]).toBe("5");
    expect((await get("/readyz")).status).toBe(503);
    clock.advance(10_000);
    await settle();
    expect(drained.done).toBe(false);
    call.onCancel?.({});
    signalling.last("INVITE").respond(487);
    await settle();
    clock.advance(1_000);
    await expect.poll(() => drained.done).toBe(true);
    await expect(get("/healthz")).rejects.toThrow();
  });

  it("ends calls that are still up at the deadline, and stops", async () => {
    const { running, signalling, invite } = await start();
    const call = invite();
    const drained = watch(running.drain());
    clock.advance(19_999);
    await settle();
    expect(running.calls.active).toBe(1);
    clock.advance(1);
    await settle();
    expect(call.statuses.at(-1)).toBe(503);
    expect(signalling.last("INVITE").cancelled).toBeDefined();
    clock.advance(1_000);
    await expect.poll(() => drained.done).toBe(true);
  });

  it("stops at once, whatever the agent does, when it is told to", async () => {
    const { running, signalling, invite } = await start();
    const call = invite();
    const drained = watch(running.drain());
    await stop();
    expect(call.statuses.at(-1)).toBe(503);
    expect(signalling.last("INVITE").cancelled).toBeDefined();
    await expect.poll(() => drained.done).toBe(true);
  });
});

describe("a Weir that cannot start", () => {
  it("serves nothing when the engine cannot listen", async () => {
    const signalling = new FakeSignalling();
    const cause = new WeirError("WEIR_LISTEN_FAILED", { address: "127.0.0.2" }, { cause: new Error("in use") });
    clock = new ManualClock();
    signalling.start = () => Promise.reject(cause);
    const failing = new Weir(configOf(yaml), { log, clock, signalling });
    await expect(failing.start()).rejects.toMatchObject({
      code: "WEIR_LISTEN_FAILED",
      detail: { address: "127.0.0.2", setting: "signalling.listen" },
      cause: cause.cause,
    });
    await expect(fetch(`${failing.adminUrl}/healthz`)).rejects.toThrow();
  });
});
