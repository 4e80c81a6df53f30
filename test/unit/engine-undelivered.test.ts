import { describe, expect, it } from "vitest";
import { Undelivered } from "../../src/engine/core/undelivered.ts";
import { failureText } from "../../src/engine/transport/failure-text.ts";
import { ManualClock } from "../support/manual-clock.ts";

describe("requests that could not be delivered", () => {
  it("are told as a warning once a minute for each peer, and as detail meanwhile", () => {
    const clock = new ManualClock();
    const lines: string[] = [];
    const undelivered = new Undelivered(clock, {
      warn: (detail) => lines.push(`warn ${(detail as { peer: string }).peer}`),
      debug: (detail) => lines.push(`debug ${(detail as { peer: string }).peer}`),
    });
    const tell = (peer: string) => undelivered.tell({ peer, method: "OPTIONS", "call-id": "x", reason: "refused" });
    tell("a");
    tell("a");
    tell("b");
    clock.advance(59_999);
    tell("a");
    clock.advance(1);
    tell("a");
    expect(lines).toEqual(["warn a", "debug a", "warn b", "debug a", "warn a"]);
  });

  it("say why in words beside the code of the system", () => {
    const error = (code: string) => Object.assign(new Error(`connect ${code} 192.0.2.1:5060`), { code });
    expect(failureText(error("ECONNREFUSED"), "tcp")).toBe("connection refused (ECONNREFUSED)");
    expect(failureText(error("ECONNREFUSED"), "udp")).toBe("port closed, told by ICMP (ECONNREFUSED)");
    expect(failureText(error("EHOSTUNREACH"), "udp")).toBe("host unreachable (EHOSTUNREACH)");
    expect(failureText(error("EWHATEVER"), "udp")).toBe("connect EWHATEVER 192.0.2.1:5060");
    expect(failureText(new Error("TLS: certificate has expired"), "tls")).toBe("TLS: certificate has expired");
  });
});
