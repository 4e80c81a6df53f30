import { createServer, type Socket } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { encodeFrame, FrameReader, parseFrame } from "../../src/engine/link/frames.ts";
import { DrachtioSignalling } from "../../src/signalling/drachtio-signalling.ts";
import { ExternalLink } from "../../src/signalling/external-link.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/loopback.ts";
import { ManualClock } from "../support/manual-clock.ts";

/** The other end of the link: takes an application in, and answers its pings only while it `lives`. */
let lives: boolean;
const taken: { readonly socket: Socket; pings: number }[] = [];
const server = createServer((socket) => {
  const application = { socket, pings: 0 };
  taken.push(application);
  const frames = new FrameReader();
  const answer = (id: string, ...tokens: string[]) =>
    socket.write(encodeFrame(["answer", "response", id, "OK", ...tokens].join("|")));
  socket.on("data", (chunk) => {
    for (const frame of frames.read(chunk.toString("latin1")).map(parseFrame)) {
      if (frame.type === "ping") application.pings++;
      if (frame.type === "authenticate") answer(frame.id, "udp/127.0.0.1:5060", "v0.9.5", "udp/127.0.0.1:5060");
      else if (lives) answer(frame.id);
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

beforeEach(async () => {
  lives = true;
  clock = new ManualClock();
  const port = await freePort("127.0.0.1");
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const link = new ExternalLink({ drachtio: { host: "127.0.0.1", port, secret: "cymru" } }, clock);
  signalling = new DrachtioSignalling(link, log);
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
