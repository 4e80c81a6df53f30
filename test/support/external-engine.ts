import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "./eventually.ts";
import { type Endpoint, freePort, hostPort } from "./loopback.ts";

/** Path of a drachtio-server. When set, the tests of the running program run on it instead of the embedded engine. */
const drachtioServer = process.env.WEIR_TEST_DRACHTIO ?? "";

/** Which engine the tests of the running program are on. */
export const engineUnderTest = drachtioServer === "" ? "embedded" : "drachtio";

/** For what drachtio-server does otherwise: docs/engines.md says why. */
export const onDrachtio = engineUnderTest === "drachtio";

const secret = "cymru";
const program = fileURLToPath(new URL("../../dist/cli/weir.js", import.meta.url));
const shippedConfig = new URL("../../config/drachtio.conf.xml", import.meta.url);

export interface ExternalEnginePlace {
  /** UDP and TCP on each. */
  readonly listen: readonly Endpoint[];
  /** Milliseconds; only a drachtio-server can be told. */
  readonly t1?: number | undefined;
}

/** An engine that Weir reaches over TCP: the drachtio-server under test or, without one, `weir engine`. */
export class ExternalEngine {
  /** Where applications connect. */
  readonly admin: Endpoint;
  readonly #directory: string;
  readonly #command: readonly [program: string, ...args: string[]];
  #process: ChildProcess | undefined;
  #log = "";

  private constructor(admin: Endpoint, directory: string, command: readonly [string, ...string[]]) {
    this.admin = admin;
    this.#directory = directory;
    this.#command = command;
  }

  /** Chooses its ports and writes its configuration; nothing runs yet. */
  static async at(place: ExternalEnginePlace): Promise<ExternalEngine> {
    const address = place.listen[0]?.address ?? "127.0.0.1";
    const admin = { address, port: await freePort(address) };
    const directory = await mkdtemp(join(tmpdir(), "weir-engine-"));
    const command = onDrachtio ? await drachtioCommand(place, admin, directory) : weirEngineCommand(place, admin);
    return new ExternalEngine(admin, directory, command);
  }

  /** `signalling.drachtio` of a Weir that is to use it. */
  get link(): { host: string; port: number; secret: string } {
    return { host: this.admin.address, port: this.admin.port, secret };
  }

  /** Starts it, for the first time or again, and waits until applications can connect. */
  async start(): Promise<void> {
    const [command, ...args] = this.#command;
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
    const collect = (text: Buffer) => {
      this.#log = (this.#log + text.toString()).slice(-20_000);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    this.#process = child;
    await eventually("the engine accepting applications", () => this.#accepts(), { found: () => this.#log });
  }

  /** Ends it in the middle of whatever it is doing. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  async remove(): Promise<void> {
    await this.kill();
    await rm(this.#directory, { recursive: true, force: true });
  }

  #accepts(): Promise<boolean> {
    if (this.#process?.exitCode !== null) throw new Error(`the engine ended at once: ${this.#log}`);
    const socket = connect(this.admin.port, this.admin.address);
    return new Promise((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
    }).finally(() => socket.destroy()) as Promise<boolean>;
  }
}

function weirEngineCommand({ listen }: ExternalEnginePlace, admin: Endpoint): [string, ...string[]] {
  const listening = listen.flatMap((endpoint) =>
    ["udp", "tcp"].flatMap((protocol) => ["--listen", `${protocol}://${hostPort(endpoint)}`]),
  );
  return [process.execPath, program, "engine", "--admin", hostPort(admin), "--secret", secret, ...listening];
}

/** The configuration that Weir ships, moved to other addresses. */
async function drachtioCommand(
  { listen, t1 }: ExternalEnginePlace,
  admin: Endpoint,
  directory: string,
): Promise<[string, ...string[]]> {
  const contacts = listen.map((endpoint) => `<contact>sip:${hostPort(endpoint)};transport=udp,tcp</contact>`).join("");
  const timers = t1 === undefined ? "" : `<timers><t1>${t1}</t1><t1x64>${64 * t1}</t1x64></timers>`;
  const moves = [
    [/<admin .*<\/admin>/, `<admin port="${admin.port}" secret="${secret}">${admin.address}</admin>`],
    [/<contacts>.*<\/contacts>/s, `<contacts>${contacts}</contacts>${timers}`],
  ] as const;
  let text = await readFile(shippedConfig, "utf8");
  for (const [pattern, replacement] of moves) {
    if (!pattern.test(text)) throw new Error(`nothing in config/drachtio.conf.xml matches ${pattern}`);
    text = text.replace(pattern, replacement);
  }
  const file = join(directory, "drachtio.conf.xml");
  await writeFile(file, text);
  return [drachtioServer, "--file", file];
}
