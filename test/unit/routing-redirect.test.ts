import { describe, expect, it } from "vitest";
import { contactsOf, hiddenContacts } from "../../src/calls/redirects.ts";
import type { Redirect } from "../../src/routing/route-plan.ts";
import { groupWith, RoutingBench, where } from "../support/routing.ts";

const to = (host: string, user = "44", port = 0): Redirect => ({
  uri: `sip:${user}@${host}:${port}`,
  user,
  host,
  port,
});

const bench = (options: Partial<ConstructorParameters<typeof RoutingBench>[0]> = {}) =>
  new RoutingBench({ agents: [{}, {}, {}], groups: [groupWith("g", ["a", "b"])], ...options });

describe("a route that is redirected", () => {
  it("follows the Contacts in order, then goes on with its own candidates", () => {
    const plan = bench().plan();
    expect(where(plan.next())).toBe("a");
    expect(plan.redirected([to("192.0.2.8"), to("127.0.0.13")])).toBe("followed");
    expect(where(plan.next())).toBe("sip:44@192.0.2.8:0");
    expect(plan.failed(503)).toBe(true);
    const second = plan.next();
    expect(where(second)).toBe("c");
    expect(second).toMatchObject({ redirect: { host: "127.0.0.13" } });
    expect(plan.failed(503)).toBe(true);
    expect(where(plan.next())).toBe("b");
  });

  it("takes places at agents it knows, and passes over those without room", () => {
    const limited = bench({ agents: [{}, {}, { "max-outbound-sessions": 1 }] });
    limited.agent("c").admit({ direction: "outbound", method: "INVITE" });
    const plan = limited.plan();
    plan.next();
    expect(plan.redirected([to("127.0.0.13"), to("192.0.2.8")])).toBe("followed");
    expect(where(plan.next())).toBe("sip:44@192.0.2.8:0");
    expect(plan.trace.passedOver).toMatchObject([{ agent: "c", state: "C" }]);
    expect(limited.agent("c").snapshot().exceeded["max-outbound-sessions"]).toBe(1);
  });

  it("goes to the same agent again only for another number", () => {
    const plan = bench().plan();
    plan.next();
    expect(plan.redirected([to("127.0.0.11")])).toBe("loop");
    expect(plan.redirected([to("127.0.0.11", "55")])).toBe("followed");
    expect(where(plan.next())).toBe("a");
    expect(plan.redirected([to("127.0.0.11", "55"), to("127.0.0.11", "44")])).toBe("loop");
  });

  it("ends when Contacts change for ever", () => {
    const plan = bench().plan();
    plan.next();
    let followed = 0;
    while (plan.redirected([to("192.0.2.8", String(followed))]) === "followed") {
      followed++;
      plan.next();
      if (followed > 100) break;
    }
    expect(followed).toBeGreaterThan(5);
    expect(followed).toBeLessThan(30);
  });

  it("knows nowhere to go without Contacts", () => {
    const plan = bench().plan();
    plan.next();
    expect(plan.redirected([])).toBe("none");
  });

  it("obeys the agent's redirect-action before that of its group and of the system", () => {
    const groups = [groupWith("g", ["a", "b"], { failover: { "redirect-action": "recurse" } })];
    const plan = bench({ agents: [{ "redirect-action": "proxy" }, {}], groups }).plan();
    plan.next();
    expect(plan.redirectAction).toBe("proxy");
    plan.failed();
    plan.next();
    expect(plan.redirectAction).toBe("recurse");
  });

  it("leaves a group without recursion once the Contacts are used up", () => {
    const plan = bench({ groups: [groupWith("g", ["a", "b"], { "sag-recursion": "disabled" })] }).plan();
    plan.next();
    plan.redirected([to("192.0.2.8")]);
    plan.next();
    plan.failed(503);
    expect(where(plan.next())).toBe("next-hop-sa-oos");
  });
});

describe("the Contacts of a 3xx", () => {
  it("are followed by q, the highest first, equals in their order", () => {
    const value =
      '"A, B" <sip:1@h1>;q=0.2, <sip:2@h2:5070;transport=tcp>;q=0.9, sip:3@h3, <tel:+44>, <sips:4@h4>, <sip:5@h5>;q=x';
    expect(contactsOf(value).map(({ user, host, port }) => `${user}@${host}:${port}`)).toEqual([
      "3@h3:0",
      "2@h2:5070",
      "1@h1:0",
      "5@h5:0",
    ]);
    expect(contactsOf(undefined)).toEqual([]);
  });

  it("show the caller our own address, and nothing of the agent's side", () => {
    const value = '"Bob" <sip:bob@192.0.2.1:5071;transport=tcp>;q=0.5, <sip:192.0.2.1>, <tel:+4420>, <mailto:b@h>';
    expect(hiddenContacts(value, ";transport=tcp")).toBe('"Bob" <sip:bob@localhost;transport=tcp>;q=0.5, <tel:+4420>');
    expect(hiddenContacts("<sip:192.0.2.1>", "")).toBeUndefined();
  });
});
