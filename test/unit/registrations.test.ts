import { expect, it } from "vitest";
import { Registrations } from "../../src/registrations/registrations.ts";
import { CallBench } from "../support/call-bench.ts";
import { FakeRequest } from "../support/fake-signalling.ts";

/** Room for three. */
function bench() {
  const { signalling, clock, router, calls } = new CallBench();
  const { replies, headerRules } = calls;
  const registrations = new Registrations(
    { "max-registrations": 3, "max-contacts": 3 },
    { signalling, clock, router, replies, headerRules, random: () => 0.5 },
  );
  const realm = { identifier: "default", listen: [], allow: "any" } as const;
  const register = (user: string, more: Record<string, string> = {}): FakeRequest => {
    const uri = `sip:${user}@192.0.2.9`;
    const headers = {
      "call-id": user,
      from: `<${uri}>;tag=1`,
      to: `<${uri}>`,
      contact: `<${uri}>`,
      cseq: "1 REGISTER",
      ...more,
    };
    const request = new FakeRequest("REGISTER", { headers });
    registrations.register(request, realm);
    return request;
  };
  return { signalling, registrations, register };
}

it("REGISTERs that wait for their answers count towards max-registrations, and no longer once they have them", () => {
  const { signalling, registrations, register } = bench();
  const [a, b, c, d] = ["a", "b", "c", "d"].map((user) => register(user));
  expect([a, b, c, d].map((request) => request?.statuses)).toEqual([[], [], [], [503]]);
  const [first, second, third] = signalling.all("REGISTER");
  first?.respond(403);
  second?.respond(200);
  expect(registrations.size).toBe(1);
  expect([register("e").statuses, register("f").statuses]).toEqual([[], [503]]);
  third?.respond(200);
  signalling.last("REGISTER").respond(200);
  expect(registrations.size).toBe(3);
  expect([register("b").statuses, register("g").statuses]).toEqual([[], [503]]);
});

it("REGISTERs that are lost with the engine count no longer, whatever becomes of them", () => {
  const { signalling, register } = bench();
  for (const user of ["a", "b", "c"]) register(user);
  const lost = signalling.all("REGISTER");
  signalling.lose();
  expect(["d", "e"].map((user) => register(user).statuses)).toEqual([[], []]);
  for (const each of lost) each.end({ kind: "refused", cause: "disconnected", detail: "" });
  expect(["f", "g"].map((user) => register(user).statuses)).toEqual([[], [503]]);
});

it("what is kept of a REGISTER is kept in whatever letters it came: an engine outside hands over UTF-8", () => {
  const { signalling, registrations, register } = bench();
  const path = '"Łódź, Bałuty" <sip:127.0.0.31;lr>';
  register("a", { path });
  signalling.last("REGISTER").respond(200);
  expect(registrations.list(1)).toMatchObject([{ path: [path] }]);
});
