import { describe, expect, it } from "vitest";
import { type AttemptFailure, mayFailOver, type Redirection, redirectionOf } from "../../src/calls/failover-policy.ts";
import { defaultsOf, matchesCode, parseCodeRange } from "../../src/params.ts";
import { type FailoverParams, failoverParams } from "../../src/routing/params.ts";
import type { Redirect } from "../../src/routing/route-plan.ts";
import type { Headers } from "../../src/signalling/port.ts";

const response = (status: number, headers: Headers = {}): AttemptFailure => ({
  kind: "response",
  response: { status, reason: "", headers, body: "", dialogId: "", reliable: false, ack() {} },
});

/** A route that says what `recurse-codes` say, as RoutePlan does. */
function route(params: Partial<FailoverParams> = {}) {
  const failover = { ...defaultsOf(failoverParams), ...params };
  const told: (number | undefined)[] = [];
  const failed = (status?: number) => {
    told.push(status);
    return status === undefined || matchesCode(failover["recurse-codes"], status);
  };
  const redirected = (contacts: readonly Redirect[]): Redirection => (contacts.length > 0 ? "followed" : "none");
  return { failover, failed, told, following: false, redirected, redirectAction: failover["redirect-action"] };
}

const codes = (...texts: string[]) => texts.map((text) => parseCodeRange(text)).filter((range) => range !== undefined);

describe("failover (SEMANTICS section 8)", () => {
  it.each([
    ["no response in time", { kind: "no-response" }, true],
    ["no final in ring-timeout", { kind: "ring-timeout" }, true],
    ["a transaction timeout", { kind: "timeout" }, true],
    ["a transport failure", { kind: "transport-failure", detail: "refused" }, true],
    ["our own loop", { kind: "refused", cause: "loop" }, false],
    ["a request that cannot be sent", { kind: "refused", cause: "bad-request" }, false],
  ] as const)("on %s: %s", (_, failure, expected) => {
    expect(mayFailOver(failure, route(), false)).toBe(expected);
  });

  it.each([
    [408, true],
    [500, true],
    [502, true],
    [503, true],
    [504, true],
    [302, false],
    [401, false],
    [404, false],
    [407, false],
    [480, false],
    [481, false],
    [486, false],
    [487, false],
    [488, false],
    [501, false],
    [600, false],
    [603, false],
    [606, false],
  ])("on %i: %s", (status, expected) => {
    expect(mayFailOver(response(status), route(), false)).toBe(expected);
  });

  it.each([
    ["486", 486, true],
    ["480-499", 486, false],
    ["480-499", 480, true],
    ["500-699", 603, false],
    ["500-699", 580, true],
    ["603", 603, true],
  ])(
    "with recurse-codes %s, on %i: %s, as the callee's word counts unless a code is named alone",
    (range, status, expected) => {
      expect(mayFailOver(response(status), route({ "recurse-codes": codes(range) }), false)).toBe(expected);
    },
  );

  it("stops once early media was passed, unless told otherwise", () => {
    expect(mayFailOver(response(503), route(), true)).toBe(false);
    expect(mayFailOver({ kind: "timeout" }, route(), true)).toBe(false);
    expect(mayFailOver(response(503), route({ "recurse-after-early-media": "enabled" }), true)).toBe(true);
  });

  it("always tells the route how its attempt failed", () => {
    const silent = route();
    mayFailOver({ kind: "no-response" }, silent, true);
    expect(silent.told).toEqual([undefined]);
    const busy = route();
    mayFailOver(response(486), busy, false);
    expect(busy.told).toEqual([486]);
  });
});

describe("a 3xx", () => {
  const moved = response(302, { contact: "<sip:1@192.0.2.9>" });
  const recurse = route({ "redirect-action": "recurse" });

  it("is followed where redirect-action says so", () => {
    expect(redirectionOf(moved, recurse, false)).toBe("followed");
    expect(redirectionOf(moved, route(), false)).toBe("none");
  });

  it("is not followed without a Contact, nor another response with one", () => {
    expect(redirectionOf(response(302), recurse, false)).toBe("none");
    expect(redirectionOf(response(485, { contact: "<sip:1@192.0.2.9>" }), recurse, false)).toBe("none");
    expect(redirectionOf({ kind: "timeout" }, recurse, false)).toBe("none");
  });

  it("is not followed once the caller has early media, unless told so", () => {
    expect(redirectionOf(moved, recurse, true)).toBe("none");
    const both = route({ "redirect-action": "recurse", "recurse-after-early-media": "enabled" });
    expect(redirectionOf(moved, both, true)).toBe("followed");
  });

  it("whose Contact is Weir itself leads on to the next one, as its agent is to blame", () => {
    expect(mayFailOver({ kind: "refused", cause: "loop" }, { ...recurse, following: true }, false)).toBe(true);
  });
});
