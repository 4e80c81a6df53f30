import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Scene } from "./engine-scene.ts";
import { requestText, virtualRig } from "./engine-support.ts";

/** Bytes of the body of each INVITE, none of which is needed once the call is answered. */
const length = 30_000;
const calls = 40;
const body = "x".repeat(length);
const described = { "Content-Type": "text/plain", Contact: "<sip:somebody-of-some-length@192.0.2.1>" };

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

let scene: Scene;

/** Timers as RFC 3261 has them, so that nothing that waits for repetitions is over before it is weighed. */
beforeEach(async () => {
  scene = await Scene.open(() => virtualRig({}, { timers: { t1: 500, t2: 4_000, t4: 5_000 } }));
});
afterEach(() => scene.close());

async function outgoing(number: number, options: object): Promise<void> {
  const { app, peer } = scene;
  const sent = await app.request({
    uri: `sip:svc@127.0.0.1:${peer.port}`,
    method: "INVITE",
    body,
    ...options,
    headers: {
      "Call-ID": `a-call-id-of-some-length-${number}`,
      From: "<sip:somebody@localhost>",
      ...described,
    },
  });
  peer.answer(await peer.next("INVITE"), 200);
  const { ack } = await sent.next(200);
  ack?.();
  await peer.next("ACK");
}

async function incoming(number: number): Promise<void> {
  const { app, peer, rig } = scene;
  const callId = `a-call-id-of-some-length-${number}`;
  const fromTag = `a-tag-of-some-length-${number}`;
  peer.send(requestText(peer.port, { callId, fromTag, body, headers: ["Content-Type: text/plain"] }), rig.port);
  await app.respond(await app.next("INVITE"), 200, { headers: described, body });
  const to = (await peer.next(200)).header("to") ?? "";
  peer.send(requestText(peer.port, { method: "ACK", callId, fromTag, to }), rig.port);
  await app.next("ACK");
}

it.each([
  ["that it sends", (number: number) => outgoing(number, {})],
  [
    "that it sends along a path",
    (number: number) => {
      const { peer, rig } = scene;
      return outgoing(number, { proxy: `sip:127.0.0.1:${peer.port};transport=udp;ob=127.0.0.1:${rig.port}` });
    },
  ],
  ["that it receives", incoming],
])("an engine keeps of an INVITE %s only what the call needs", async (_, call) => {
  const weigh = (): number => {
    scene.peer.received.length = 0;
    collect();
    return process.memoryUsage().heapUsed;
  };
  for (let number = 0; number < 20; number++) await call(number);
  const before = weigh();
  for (let number = 20; number < 20 + calls; number++) await call(number);
  expect((weigh() - before) / calls).toBeLessThan(length / 2);
});
