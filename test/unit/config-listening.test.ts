import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { formatProblem } from "../../src/config/problems.ts";

/** The errors of a configuration that listens like this. */
function errorsOf(lines: readonly string[], environment: NodeJS.ProcessEnv = {}): string[] {
  const rest = [
    "session-agents: [{ hostname: a, ip-address: 127.0.0.1, port: 5071, realm-id: x }]",
    "local-policies: [{ policy-attributes: [{ next-hop: a }] }]\n",
  ];
  const loaded = loadConfig([...lines, ...rest].join("\n"), "weir.yaml", environment);
  return "errors" in loaded ? loaded.errors.map(formatProblem) : [];
}

const realms = (x: string, y: string, more: readonly string[] = []): string[] => [
  "realms:",
  `  - { identifier: x, listen: [${x}] }`,
  `  - { identifier: y, listen: [${y}] }`,
  ...more,
];

const expected = "expected no address that takes in another at the same port";

describe("listening addresses that cannot be bound beside each other", () => {
  it("are errors that name both places, whichever stands first", () => {
    const [one, all] = ['"udp://127.0.0.2:15060"', '"udp://0.0.0.0:15060"'];
    expect(errorsOf(realms(one, all))).toEqual([
      `weir.yaml:3: realms[1].listen: found udp://0.0.0.0:15060, beside udp://127.0.0.2:15060 of realms[0].listen on line 2, ${expected}`,
    ]);
    expect(errorsOf(realms(all, one))).toEqual([
      `weir.yaml:3: realms[1].listen: found udp://127.0.0.2:15060, beside udp://0.0.0.0:15060 of realms[0].listen on line 2, ${expected}`,
    ]);
    expect(errorsOf(realms(one, one))).toEqual([
      "weir.yaml:3: realms[1].listen: found udp://127.0.0.2:15060, beside udp://127.0.0.2:15060 of realms[0].listen on line 2, expected each address in one realm",
    ]);
  });

  it("are so within one realm too, and by signalling.listen", () => {
    const both = '"udp://127.0.0.1:5061", "udp://0.0.0.0:5061"';
    expect(errorsOf(realms(both, '"udp://127.0.0.1:5062"'))).toEqual([
      `weir.yaml:2: realms[0].listen: found udp://0.0.0.0:5061, beside udp://127.0.0.1:5061 of realms[0].listen on line 2, ${expected}`,
    ]);
    const alone = ["signalling:", `  listen: [${both}]`, "realms-of-nobody: 1"];
    expect(errorsOf(alone).filter((line) => line.includes("5061"))).toEqual([
      `weir.yaml:2: signalling.listen: found udp://0.0.0.0:5061, beside udp://127.0.0.1:5061 of signalling.listen on line 2, ${expected}`,
    ]);
  });

  it.each([
    ["IPv6", '"udp://[::1]:5060"', '"udp://[::]:5060"', 1],
    ["TLS beside TCP", '"tcp://127.0.0.1:5060"', '"tls://0.0.0.0:5060"', 1],
    ["both families, as our listeners on :: take no IPv4", '"udp://0.0.0.0:5060"', '"udp://[::]:5060"', 0],
    ["UDP beside TCP", '"udp://127.0.0.1:5060"', '"tcp://0.0.0.0:5060"', 0],
    ["another port", '"udp://127.0.0.1:5060"', '"udp://0.0.0.0:5061"', 0],
    ["any port", '"udp://127.0.0.1:0", "udp://127.0.0.1:0"', '"udp://0.0.0.0:0"', 0],
    ["another address", '"udp://127.0.0.1:5060"', '"udp://127.0.0.2:5060"', 0],
  ])("%s", (_what, x, y, count) => {
    expect(errorsOf(realms(x, y)).filter((line) => line.includes("].listen"))).toHaveLength(count);
  });

  it("are drachtio-server's affair where that listens", () => {
    const drachtio = ["signalling: { engine: drachtio }"];
    const admin = ['admin: { listen: "127.0.0.3:5060" }'];
    const all = realms('"udp://127.0.0.2:5060"', '"udp://0.0.0.0:5060", "tcp://127.0.0.3:5060"', [
      ...drachtio,
      ...admin,
    ]);
    expect(errorsOf(all)).toEqual([]);
    expect(errorsOf(realms('"udp://127.0.0.2:5060"', '"udp://127.0.0.2:5060"', drachtio))).toHaveLength(1);
  });
});

describe("admin.listen", () => {
  const beside = (listen: string, admin: string) =>
    errorsOf(realms(listen, '"udp://127.0.0.1:5062"', ["admin:", `  listen: "${admin}"`]));

  it("may not be where calls come in by TCP or TLS", () => {
    expect(beside('"tcp://127.0.0.1:5060"', "127.0.0.1:5060")).toEqual([
      "weir.yaml:5: admin.listen: found 127.0.0.1:5060, beside tcp://127.0.0.1:5060 of realms[0].listen on line 2, expected a port of its own",
    ]);
    expect(errorsOf([], { WEIR_ADMIN_LISTEN: "0.0.0.0:5060" }).join()).toContain(
      "admin.listen: found 0.0.0.0:5060, beside tcp://127.0.0.1:5060 of signalling.listen",
    );
  });

  it.each([
    ['"tcp://0.0.0.0:5060"', "127.0.0.1:5060", 1],
    ['"tcp://127.0.0.1:5060"', "0.0.0.0:5060", 1],
    ['"tcp://127.0.0.1:5060"', "[::]:5060", 1],
    ['"tcp://[::]:5060"', "127.0.0.1:5060", 0],
    ['"udp://127.0.0.1:5060"', "127.0.0.1:5060", 0],
    ['"tcp://127.0.0.1:0"', "127.0.0.1:0", 0],
    ['"tcp://127.0.0.1:0"', "[::]:0", 0],
  ])("beside %s at %s", (listen, admin, count) => {
    expect(beside(listen, admin)).toHaveLength(count);
  });
});
