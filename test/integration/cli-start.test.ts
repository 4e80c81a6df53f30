import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { freePort, Loopback } from "../support/loopback.ts";

const program = fileURLToPath(new URL("../../dist/cli/weir.js", import.meta.url));

let folder = "";
let admin = "";
let running: ChildProcess | undefined;
let output = "";
const ended = new WeakMap<ChildProcess, Promise<unknown>>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "weir-cli-"));
  const network = new Loopback();
  const address = network.address(2);
  admin = `${address}:${await freePort(address)}`;
  const listen = `${address}:${await freePort(address)}`;
  await writeFile(
    join(folder, "weir.yaml"),
    `signalling: { listen: ["udp://${listen}", "tcp://${listen}"] }
session-agents: [{ hostname: carrier-a, ip-address: ${network.address(11)} }]
local-policies: [{ policy-attributes: [{ next-hop: carrier-a }] }]
admin: { listen: "${admin}" }
`,
  );
  const manifest = { name: "weir-started-by-npm", private: true, scripts: { start: `exec node ${program} start` } };
  await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
});
afterAll(() => rm(folder, { recursive: true }));

afterEach(async () => {
  running?.kill("SIGKILL");
  // A program that npm has left behind is no child of ours.
  await eventually("the program has ended", async () => !(await isUp()));
});

function run(command: string, args: readonly string[], stdio: StdioOptions = ["ignore", "pipe", "pipe"]): ChildProcess {
  output = "";
  running = spawn(command, args, { cwd: folder, stdio });
  running.stdout?.on("data", (text: Buffer) => {
    output += text;
  });
  running.stderr?.on("data", (text: Buffer) => {
    output += text;
  });
  ended.set(running, once(running, "close"));
  return running;
}

const weir = (...args: string[]): ChildProcess => run(process.execPath, [program, ...args]);

/** The exit status, once all that was written has been read. */
async function exitCode(child: ChildProcess): Promise<number | null> {
  await ended.get(child);
  return child.exitCode;
}

const isUp = (): Promise<boolean> =>
  fetch(`http://${admin}/readyz`).then(
    (response) => response.status === 200,
    () => false,
  );

const ready = () => eventually("/readyz answers 200", isUp, { found: () => output });

describe("weir start", () => {
  it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("ends with status 0 at %s", async (signal) => {
    const child = weir("start", "--config", "weir.yaml");
    await ready();
    child.kill(signal);
    expect(await exitCode(child)).toBe(0);
    expect(output).toContain('"msg":"stopped"');
  });

  it("works on and ends in order when nobody reads its log any more", async () => {
    const child = weir("start", "--config", "weir.yaml");
    await ready();
    child.stdout?.destroy();
    child.kill("SIGTERM");
    const [code] = await once(child, "exit");
    expect(code).toBe(0);
  });

  it("works on and ends in order when the disk of its log is full", async () => {
    const full = await open("/dev/full", "w");
    try {
      const child = run(process.execPath, [program, "start", "--config", "weir.yaml"], ["ignore", full.fd, "pipe"]);
      await ready();
      child.kill("SIGTERM");
      expect(await exitCode(child)).toBe(0);
    } finally {
      await full.close();
    }
  });

  it("says every error of a bad configuration, starts nothing and ends with status 78", async () => {
    await writeFile(join(folder, "bad.yaml"), "session-agents:\n  - { hostname: a, prot: 5060, port: x }\n");
    const child = weir("start", "--config", "bad.yaml");
    expect(await exitCode(child)).toBe(78);
    expect(output).toContain('bad.yaml:2: session-agents[0].prot: unknown key; did you mean "port"?\n');
    expect(output).toContain('bad.yaml:2: session-agents[0].port: found "x", expected a whole number 0 to 65535\n');
    expect(output).toContain("bad.yaml: WEIR_CONFIG_INVALID: 2 errors\n");
  });

  it("says which address is taken and ends with status 71", async () => {
    const taken = createServer();
    const [address = "", port = ""] = admin.split(":");
    taken.listen(Number(port), address);
    await once(taken, "listening");
    try {
      const child = weir("start", "--config", "weir.yaml");
      expect(await exitCode(child)).toBe(71);
      expect(output).toContain(`WEIR_LISTEN_FAILED: admin.listen: a listening address cannot be bound: `);
      expect(output).toContain("EADDRINUSE");
      expect(output).toContain(admin);
    } finally {
      taken.close();
    }
  });
});

describe("weir check", () => {
  it("ends with status 0 for a good configuration and 78 for none", async () => {
    expect(await exitCode(weir("check", "weir.yaml"))).toBe(0);
    expect(await exitCode(weir("check", "--config", "weir.yaml"))).toBe(0);
    expect(await exitCode(weir("check", "missing.yaml"))).toBe(78);
    expect(output).toBe(
      "missing.yaml: WEIR_CONFIG_UNREADABLE: the configuration file cannot be read: there is no such file\n",
    );
    expect(await exitCode(weir("check", "."))).toBe(78);
    expect(output).toBe(".: WEIR_CONFIG_UNREADABLE: the configuration file cannot be read: it is a directory\n");
  });
});

describe("weir agents and weir calls", () => {
  it("show the running Weir", async () => {
    const child = weir("start", "--config", "weir.yaml");
    await ready();
    const agents = weir("agents", "--config", "weir.yaml");
    expect(await exitCode(agents)).toBe(0);
    expect(output).toMatch(/^carrier-a +I /m);
    expect(await exitCode(weir("calls", "--admin", admin))).toBe(0);
    expect(output).toContain("no calls are up");
    expect(await exitCode(weir("agents", "nobody", "--admin", admin))).toBe(1);
    child.kill("SIGTERM");
    expect(await exitCode(child)).toBe(0);
  });

  it("say so in one line and end with status 69 when none runs", async () => {
    expect(await exitCode(weir("agents", "--admin", admin))).toBe(69);
    expect(output.trim().split("\n")).toHaveLength(1);
  });
});

describe("weir engine", () => {
  it("says that it is up and that it was stopped, and ends with status 0", async () => {
    const child = weir("engine", "--listen", "udp://127.0.0.1:0", "--admin", "127.0.0.1:0");
    await eventually("the engine is up", () => output.includes('"msg":"engine up"'), { found: () => output });
    child.kill("SIGTERM");
    expect(await exitCode(child)).toBe(0);
    expect(output).toContain('"reason":"SIGTERM","msg":"asked to end"');
    expect(output).toContain('"msg":"stopped"');
  });
});

describe("npm start", () => {
  const npmStart = () => run("npm", ["start", "--", "--config", "weir.yaml"]);

  it.each(["SIGTERM", "SIGINT"] as const)("ends the program at %s", async (signal) => {
    const npm = npmStart();
    await ready();
    npm.kill(signal);
    await eventually("the program has ended", async () => !(await isUp()));
    await eventually("it has ended in order", () => output.includes('"msg":"stopped"'), { found: () => output });
  });

  it("does not leave the program behind when npm is killed", async () => {
    const npm = npmStart();
    await ready();
    npm.kill("SIGKILL");
    await eventually("the program has drained and ended", () => output.includes('"msg":"stopped"'), {
      found: () => output,
    });
    expect(output).toContain('"reason":"npm has ended"');
  });
});
