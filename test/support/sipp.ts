import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe } from "vitest";
import { eventually } from "./eventually.ts";
import { type Endpoint, hostPort } from "./loopback.ts";

const scenarios = fileURLToPath(new URL("../../sipp-scenarios/", import.meta.url));
const installed = spawnSync("sipp", ["-v"]).error === undefined;

/** A suite that needs SIPp; where it is missing, its name says so and nothing in it runs. */
export function describeWithSipp(name: string, tests: () => void): void {
  describe.skipIf(!installed)(installed ? name : `${name} (skipped: sipp is not installed, see sip-tester)`, tests);
}

export interface SippOptions {
  /** Where SIPp sends from and listens. */
  readonly local: Endpoint;
  /** Where a caller's requests go; an agent (uas-…) only answers. */
  readonly remote?: Endpoint;
  readonly transport?: "udp" | "tcp";
  /** The called number. */
  readonly service?: string;
  /** Calls to place or to take before it ends; default 1. */
  readonly calls?: number;
  /** Calls a second; default 20. */
  readonly rate?: number;
  /** Length of a `<pause />` without a length of its own; default 0. */
  readonly holdMs?: number;
  /** `-key` values of the scenario. */
  readonly keys?: Readonly<Record<string, string | number>>;
  /** False: `-nr`, nothing is sent again and repetitions count as messages. */
  readonly retransmissions?: boolean;
  /** How long SIPp waits for one message; default 12,000. */
  readonly receiveTimeoutMs?: number;
  /** After this it gives up and fails; default 25 s. */
  readonly timeoutS?: number;
}

export interface SippResult {
  readonly exitCode: number;
  /** What SIPp wrote about calls that did not go as the scenario says. */
  readonly errors: string;
  /** Start lines of the messages received, in order, repetitions included. */
  readonly received: readonly string[];
  /** The messages received, whole. */
  readonly messages: readonly string[];
  /** Start lines of the messages sent, in order. */
  readonly sent: readonly string[];
  /** Every message sent and received, as SIPp traces them. */
  readonly trace: string;
}

/** SIPp tells the length in bytes before each message it received. */
const messagesIn = (trace: string): string[] =>
  [...trace.matchAll(/message received \[(\d+)\][^\n]*\n\n/g)].map((match) => {
    const begin = match.index + match[0].length;
    return trace.slice(begin, begin + Number(match[1]));
  });

/** One running SIPp with one scenario of sipp-scenarios/. */
export class Sipp {
  readonly scenario: string;
  readonly #options: SippOptions;
  readonly #directory: string;
  readonly #process: ChildProcess;
  readonly #exited: Promise<number>;
  #output = "";
  #result: Promise<SippResult> | undefined;

  private constructor(scenario: string, options: SippOptions, directory: string) {
    this.scenario = scenario;
    this.#options = options;
    this.#directory = directory;
    this.#process = spawn("sipp", this.#arguments(), {
      cwd: directory,
      env: { ...process.env, TERM: "dumb" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const collect = (text: Buffer) => {
      this.#output = (this.#output + text.toString("latin1")).slice(-20_000);
    };
    this.#process.stdout?.on("data", collect);
    this.#process.stderr?.on("data", collect);
    this.#exited = new Promise((resolve, reject) => {
      this.#process.once("error", reject);
      this.#process.once("exit", (code, signal) => resolve(code ?? (signal ? -1 : 0)));
    });
  }

  /** Starts a scenario by its file name without `.xml`; an agent's (uas-…) is listening when this resolves. */
  static async start(scenario: string, options: SippOptions): Promise<Sipp> {
    const sipp = new Sipp(scenario, options, await mkdtemp(join(tmpdir(), "weir-sipp-")));
    await sipp.#listening();
    return sipp;
  }

  /** Runs a scenario to its end. */
  static async run(scenario: string, options: SippOptions): Promise<SippResult> {
    return (await Sipp.start(scenario, options)).finished();
  }

  /** Waits until SIPp has ended by itself. */
  finished(): Promise<SippResult> {
    this.#result ??= this.#collect();
    return this.#result;
  }

  /** Waits for the end and throws, with SIPp's own words, unless every call went as the scenario says. */
  async succeeded(): Promise<SippResult> {
    const result = await this.finished();
    if (result.exitCode !== 0) {
      const about = result.errors || this.#output.slice(-1_500);
      throw new Error(`${this.scenario} ended with ${result.exitCode}: ${about}\n${result.trace.slice(-60_000)}`);
    }
    return result;
  }

  /** Ends it now, whatever it is doing. */
  async stop(): Promise<SippResult> {
    this.#process.kill("SIGKILL");
    return this.finished();
  }

  #arguments(): string[] {
    const o = this.#options;
    const options: Record<string, string | number> = {
      "-sf": join(scenarios, `${this.scenario}.xml`),
      "-i": o.local.address,
      "-p": o.local.port,
      "-t": o.transport === "tcp" ? "t1" : "u1",
      "-m": o.calls ?? 1,
      "-d": o.holdMs ?? 0,
      "-recv_timeout": o.receiveTimeoutMs ?? 12_000,
      "-timeout": `${o.timeoutS ?? 25}s`,
      "-error_file": "errors.log",
      "-message_file": "messages.log",
    };
    if (o.remote) Object.assign(options, { "-r": o.rate ?? 20, "-s": o.service ?? "100" });
    const keys = Object.entries(o.keys ?? {}).flatMap(([key, value]) => ["-key", key, String(value)]);
    return [
      ...(o.remote ? [hostPort(o.remote)] : []),
      ...Object.entries(options).flatMap(([name, value]) => [name, String(value)]),
      ...keys,
      ...(o.retransmissions === false ? ["-nr"] : []),
      ...["-nostdin", "-timeout_error", "-trace_err", "-trace_msg"],
    ];
  }

  /** SIPp says nothing when its socket is bound; the kernel's table does. */
  async #listening(): Promise<void> {
    const { local, remote, transport } = this.#options;
    if (remote) return;
    const table = `/proc/net/${transport === "tcp" ? "tcp" : "udp"}${isIPv6(local.address) ? "6" : ""}`;
    // Address (four bytes of IPv4 are told; IPv6 is not looked at, as ::1 is all there is) and port in hexadecimal.
    const bytes = local.address.split(".").map((byte) => Number(byte).toString(16).padStart(2, "0"));
    const host = isIPv6(local.address) ? "" : bytes.reverse().join("");
    const wanted = `${host}:${local.port.toString(16).padStart(4, "0")} `.toUpperCase();
    await eventually(`${this.scenario} listening on ${local.address}:${local.port}`, async () => {
      if (this.#process.exitCode !== null) throw new Error(`${this.scenario} ended at once: ${this.#output}`);
      return (await readFile(table, "utf8")).includes(wanted);
    });
  }

  async #collect(): Promise<SippResult> {
    const exitCode = await this.#exited;
    const read = (file: string) => readFile(join(this.#directory, file), "latin1").catch(() => "");
    const [errors, trace] = await Promise.all([read("errors.log"), read("messages.log")]);
    await rm(this.#directory, { recursive: true, force: true });
    const messages = messagesIn(trace);
    const received = messages.map((message) => message.slice(0, message.indexOf("\r\n")));
    const sent = [...trace.matchAll(/message sent[^\n]*\n\n([^\r\n]+)/g)].map((match) => match[1] ?? "");
    return { exitCode, errors, trace, messages, received, sent };
  }
}
