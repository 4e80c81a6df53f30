import { createServer, type Socket } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { encodeFrame, FrameReader, parseFrame } from "../../src/engine/link/frames.ts";
import { DrachtioSignalling } from "../../src/signalling/drachtio-signalling.ts";
import { ExternalLink } from "../../src/signalling/external-link.ts";
import type { Outcome } from "../../src/signalling/port.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/loopback.ts";
import { ManualClock } from "../support/manual-clock.ts";

/** The other end of the link: takes an application in, answers it only while it `lives`, and sends none of its requests. */
let lives: boolean;
/** Where it says that it listens. */
let listens: string;
/** What it says of a request. */
let refusal: string;
/** The requests it was to send. */
const asked: string[] = [];
const taken: { readonly socket: Socket; pings: number }[] = [];
const server = createServer((socket) => {
  const application = { socket, pings: 0 };
  taken.push(application);
  const frames = new FrameReader();
  const answer = (id: string, ...tokens: string[]) =>
    socket.write(encodeFrame(["answer", "response", id, ...tokens].join("|")));
  socket.on("data", (chunk) => {
    for (const frame of frames.read(chunk.toString("latin1")).map(parseFrame)) {
      if (frame.type === "ping") application.pings++;
      if (frame.type === "sip") asked.push(frame.text);
      if (frame.type === "authenticate") answer(frame.id, "OK", listens, "v0.9.5", listens);
      else if (lives) answer(frame.id, ...(frame.type === "sip" ? ["NOK", refusal] : ["OK"]));
    }
  });
  socket.on("error", () => undefined);
});

const logged: string[] = [];
const note = (detail: object, message: string) => logged.push(`${message} ${JSON.stringify(detail)}`);
const log = { error: note, warn: note, info: note, debug() {} };
const lost: boolean[] = [];
let clock: ManualClock;
let signalling: DrachtioSignalling;

async function link(): Promise<void> {
  lives = true;
  clock = new ManualClock();
  const port = await freePort("127.0.0.1");
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  signalling = new DrachtioSignalling(
    new ExternalLink({ drachtio: { host: "127.0.0.1", port, secret: "cymru" } }, clock),
    log,
  );
  const nothing = () => undefined;
  await signalling.start({
    invite: nothing,
    request: nothing,
    ack: nothing,
    dialogEnded: nothing,
    connected: nothing,
    disconnected: () => lost.push(true),
  });
  await eventually("the link", () => signalling.connected);
}

beforeEach(() => {
  listens = "udp/192.0.2.1:5060,tcp/192.0.2.1:5060";
  refusal = "no";
  for (const list of [taken, asked, logged, lost]) list.length = 0;
});

afterEach(async () => {
  await signalling.stop();
  for (const { socket } of taken) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

/** So many pauses between pings, each long enough for an answer to come back. */
async function pauses(count: number): Promise<void> {
  for (let passed = 0; passed < count; passed++) {
    const application = taken.at(-1);
    const before = application?.pings ?? 0;
    clock.advance(5_000);
    await eventually("a ping", () => (application?.pings ?? 0) > before || application?.socket.destroyed === true);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

it("an engine that answers no pings counts as lost after three, and is connected to anew", async () => {
  await link();
  await pauses(10);
  expect([signalling.connected, taken.length]).toEqual([true, 1]);
  lives = false;
  await pauses(3);
  expect(signalling.connected).toBe(true);
  clock.advance(5_000);
  await eventually("the loss", () => !signalling.connected);
  expect(lost).toEqual([true]);
  expect(logged).toEqual([expect.stringMatching(/^signalling engine lost .*3 pings without an answer/)]);
  lives = true;
  await eventually("the link again", () => signalling.connected);
  expect(taken).toHaveLength(2);
  expect(logged.at(-1)).toMatch(/^signalling engine back/);
});

/** How an INVITE ended. */
async function invite(headers: Record<string, string>): Promise<Outcome> {
  return new Promise((final) =>
    signalling.send(
      { method: "INVITE", uri: "sip:a@192.0.2.2", dialogId: "", headers, body: "" },
      { final, provisional() {} },
    ),
  );
}

const long = `;x=${"y".repeat(240)}`;

it("what an engine refuses to send is no failure of the agent that it was for", async () => {
  await link();
  for (refusal of ['invalid from value provided by client: "a" <sip:a@localhost>', "invalid request-uri: x"]) {
    expect(await invite({})).toEqual({ kind: "refused", cause: "bad-request", detail: refusal });
  }
});

it("an engine's address stands where it would not put it itself, if it has only one", async () => {
  await link();
  const contact = `<sip:a@localhost;transport=tcp>${long}`;
  await invite({ from: '"b@localhost.example" <sip:b@localhost>', contact });
  expect(asked.at(-1)).toContain("<sip:b@localhost>");
  expect(asked.at(-1)).toContain(`<sip:a@192.0.2.1:5060;transport=tcp>${long}`);
  await invite({ from: `<sip:b@localhost>${long}` });
  expect(asked.at(-1)).toContain(`<sip:b@192.0.2.1:5060>${long}`);
});

it("an engine's addresses are its own to choose from", async () => {
  listens = "udp/192.0.2.1:5060,udp/192.0.2.9:5060";
  await link();
  await invite({ contact: `<sip:a@localhost>${long}` });
  expect(asked.at(-1)).toContain("@localhost");
});
