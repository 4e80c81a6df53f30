import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "./eventually.ts";
import { ExternalEngine, onDrachtio } from "./external-engine.ts";
import { type Endpoint, freePort, hostPort, Loopback } from "./loopback.ts";

const program = fileURLToPath(new URL("../../dist/cli/weir.js", import.meta.url));

type Parameters = Readonly<Record<string, unknown>>;

export interface WeirSetup {
  /** Hostname → the agent's parameters; without an ip-address it gets one of the test's own network. */
  readonly agents: Readonly<Record<string, Parameters>>;
  /** Called number or its beginning → agents, hunted in order. */
  readonly routes: Readonly<Record<string, readonly string[]>>;
  /** Group parameters of one route, by its number. */
  readonly groups?: Readonly<Record<string, Parameters>>;
  /** Listens on ::1 as well. */
  readonly ipv6?: true;
  /** Milliseconds; RFC 3261's 500 unless a test would have to wait for it. */
  readonly t1?: number;
  /** The thread of the embedded engine; default: the application's. */
  readonly thread?: "same" | "worker";
  /** True: on an engine that is reached over TCP, whatever engine the tests are on. */
  readonly external?: true;
  /** `signalling.tls`: it then listens on TLS as well, see `listenTls`. */
  readonly tls?: Parameters;
  /** Further top-level sections of the configuration. */
  readonly more?: Parameters;
}

interface Usage {
  readonly active: number;
  readonly maximum: number;
}

/** What these tests read of `GET /v1/agents` (DESIGN.md section 6). */
export interface AgentView {
  readonly hostname: string;
  readonly state: { readonly letter: string; readonly word: string };
  readonly reason: string;
  readonly sessions: { readonly inbound: Usage; readonly outbound: Usage; readonly total: Usage };
  readonly exceeded: Readonly<Record<string, number>>;
}

/** Words that stand in the log only when the program did not expect what happened. */
const uncaught =
  /.*(?:unhandled ?rejection|uncaught ?exception|\b(?:Type|Range|Reference|Syntax)Error\b|"level":60).*/i;

/** The built program, running on a loopback network of its own with a configuration of its own. */
export class Weir {
  readonly listen: Endpoint;
  /** Where it listens on ::1, if it was asked to. */
  readonly listen6: Endpoint;
  /** Where it listens on TLS, if it was asked to. */
  readonly listenTls: Endpoint;
  /** The engine outside the program, if it uses one. */
  readonly engine: ExternalEngine | undefined;
  readonly #network: Loopback;
  readonly #agents: ReadonlyMap<string, Endpoint>;
  readonly #admin: string;
  readonly #directory: string;
  readonly #process: ChildProcess;
  readonly #exited: Promise<number | null>;
  #callers = 0;
  #log = "";

  private constructor(place: {
    network: Loopback;
    listen: Endpoint;
    listenTls: Endpoint;
    agents: ReadonlyMap<string, Endpoint>;
    admin: string;
    directory: string;
    engine: ExternalEngine | undefined;
  }) {
    this.engine = place.engine;
    this.#network = place.network;
    this.listen = place.listen;
    this.listenTls = place.listenTls;
    this.listen6 = { address: "::1", port: place.listen.port };
    this.#agents = place.agents;
    this.#admin = place.admin;
    this.#directory = place.directory;
    this.#process = spawn(process.execPath, [program, "start", "--config", join(place.directory, "weir.yaml")], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const collect = (text: Buffer) => {
      this.#log += text.toString();
    };
    this.#process.stdout?.on("data", collect);
    this.#process.stderr?.on("data", collect);
    this.#exited = new Promise((resolve) => this.#process.once("exit", (code) => resolve(code)));
  }

  /** Starts the program, and before it the engine it uses, and waits until it is ready. */
  static async start(setup: WeirSetup): Promise<Weir> {
    const weir = await Weir.launch(setup, (engine) => engine.start());
    await weir.ready();
    return weir;
  }

  /** Starts the program. Of an engine outside nothing runs unless `prepare` starts it. */
  static async launch(
    setup: WeirSetup,
    prepare: (engine: ExternalEngine) => Promise<void> = async () => {},
  ): Promise<Weir> {
    if (!existsSync(program)) throw new Error("the program is not built: npm run build");
    const network = new Loopback();
    const listen = { address: network.address(2), port: await freePort(network.address(2)) };
    const listenTls = { address: listen.address, port: await freePort(listen.address) };
    const admin = `${listen.address}:${await freePort(listen.address)}`;
    const agents = new Map<string, Endpoint>();
    for (const hostname of Object.keys(setup.agents)) {
      const address = String(setup.agents[hostname]?.["ip-address"] ?? network.address(11 + agents.size));
      agents.set(hostname, { address, port: await freePort(address) });
    }
    const directory = await mkdtemp(join(tmpdir(), "weir-test-"));
    const listening = [listen, ...(setup.ipv6 ? [{ address: "::1", port: listen.port }] : [])];
    const engine =
      onDrachtio || setup.external ? await ExternalEngine.at({ listen: listening, t1: setup.t1 }) : undefined;
    if (engine) await prepare(engine);
    // JSON is YAML.
    const config = {
      signalling: signalling({ listening, listenTls }, setup, engine),
      ...configuration(setup, agents, admin),
    };
    await writeFile(join(directory, "weir.yaml"), JSON.stringify(config, null, 1));
    return new Weir({ network, listen, listenTls, agents, admin, directory, engine });
  }

  /** Where this agent is expected to listen. */
  agent(hostname: string): Endpoint {
    const endpoint = this.#agents.get(hostname);
    if (!endpoint) throw new Error(`no agent ${hostname} in this test's configuration`);
    return endpoint;
  }

  /** A place to call from that is no agent's and no other caller's. */
  async caller(): Promise<Endpoint> {
    this.#callers += 1;
    const address = this.#network.address(100 + (this.#callers % 150));
    return { address, port: await freePort(address) };
  }

  /** The log so far. */
  get log(): string {
    return this.#log;
  }

  get running(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  async get(path: string): Promise<{ status: number; text: string }> {
    const response = await fetch(`http://${this.#admin}${path}`);
    return { status: response.status, text: await response.text() };
  }

  /** `GET /v1/agents`. */
  async agents(): Promise<AgentView[]> {
    return list(JSON.parse((await this.get("/v1/agents")).text), "agents") as AgentView[];
  }

  /** One agent of `GET /v1/agents`. */
  async view(hostname: string): Promise<AgentView> {
    const found = (await this.agents()).find((agent) => agent.hostname === hostname);
    if (!found) throw new Error(`/v1/agents does not show ${hostname}`);
    return found;
  }

  /** `GET /v1/calls`. */
  async calls(): Promise<unknown[]> {
    return list(JSON.parse((await this.get("/v1/calls")).text), "calls");
  }

  /** The sum of a metric over all its series; 0 as long as it has none. */
  async metric(name: string): Promise<number> {
    const { text } = await this.get("/metrics");
    if (!text.includes(`# TYPE ${name} `)) throw new Error(`/metrics knows no ${name}`);
    const series = text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)`, "gm"));
    return [...series].reduce((sum, match) => sum + Number(match[1]), 0);
  }

  /** Waits until this agent has so many sessions. */
  async sessions(hostname: string, direction: "inbound" | "outbound" | "total", active: number): Promise<void> {
    let now = -1;
    await eventually(
      `${active} ${direction} sessions of ${hostname}`,
      async () => {
        now = (await this.view(hostname)).sessions[direction].active;
        return now === active;
      },
      { found: () => now },
    );
  }

  /** Waits until every session count is zero and no call is listed, with no defect seen: how each test has to end. */
  async idle(patienceMs?: number): Promise<void> {
    let left: unknown;
    const look = async () => {
      const busy = (await this.agents()).filter(({ sessions }) =>
        [sessions.inbound, sessions.outbound, sessions.total].some(({ active }) => active !== 0),
      );
      const calls = await this.calls();
      left = [...busy.map(({ hostname, sessions }) => ({ hostname, sessions })), ...calls];
      return busy.length === 0 && calls.length === 0;
    };
    await eventually("all session counts zero and no call", look, {
      found: () => left,
      ...(patienceMs === undefined ? {} : { patienceMs }),
    });
    const defects = await this.metric("weir_defects_total");
    if (defects > 0) throw new Error(`${defects} defects: ${this.#log.slice(-2_000)}`);
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name);
  }

  /** Waits for the end; the exit code, null after a signal that was not handled. */
  async exited(patienceMs = 15_000): Promise<number | null> {
    return (await eventually("the end of the program", () => !this.running, { patienceMs })) && this.#exited;
  }

  /** Ends the program by SIGTERM. Throws unless it exits with 0 and its log is free of what nobody expected. */
  async stop(): Promise<void> {
    try {
      if (this.running) this.signal("SIGTERM");
      const code = await this.exited();
      if (code !== 0) throw new Error(`the program ended with ${code}: ${this.#log.slice(-2_000)}`);
      this.#audit();
    } finally {
      if (this.running) this.signal("SIGKILL");
      await this.engine?.remove();
      await rm(this.#directory, { recursive: true, force: true });
    }
  }

  /** Waits until it takes calls. */
  async ready(): Promise<void> {
    try {
      await eventually("GET /readyz answering 200", async () => {
        if (!this.running) throw new Error(`the program ended before it was ready: ${this.#log}`);
        return (await this.get("/readyz").catch(() => ({ status: 0 }))).status === 200;
      });
    } catch (error) {
      if (this.running) this.signal("SIGKILL");
      await this.engine?.remove();
      throw new Error(`${error instanceof Error ? error.message : error}: ${this.#log.slice(-2_000)}`);
    }
  }

  #audit(): void {
    const found = uncaught.exec(this.#log);
    if (found) throw new Error(`uncaught error in the log: ${found[0]}`);
  }
}

/** A list, bare or under its own name. */
function list(answer: unknown, name: string): unknown[] {
  const inner = Array.isArray(answer) ? answer : (answer as Record<string, unknown>)[name];
  if (!Array.isArray(inner)) throw new Error(`no list of ${name} in ${JSON.stringify(answer).slice(0, 300)}`);
  return inner;
}

function signalling(
  { listening, listenTls }: { readonly listening: readonly Endpoint[]; readonly listenTls: Endpoint },
  { t1, thread = "same", tls }: WeirSetup,
  engine: ExternalEngine | undefined,
) {
  if (engine) return { engine: "drachtio", drachtio: engine.link };
  return {
    engine: "embedded",
    thread,
    listen: [
      ...listening.flatMap((endpoint) => [`udp://${hostPort(endpoint)}`, `tcp://${hostPort(endpoint)}`]),
      ...(tls ? [`tls://${hostPort(listenTls)}`] : []),
    ],
    ...(tls && { tls }),
    ...(t1 === undefined ? {} : { timers: { t1 } }),
  };
}

function configuration(setup: WeirSetup, agents: ReadonlyMap<string, Endpoint>, admin: string) {
  const routes = Object.entries(setup.routes);
  return {
    "session-agents": Object.entries(setup.agents).map(([hostname, parameters]) => ({
      hostname,
      "ip-address": agents.get(hostname)?.address,
      port: agents.get(hostname)?.port,
      ...parameters,
    })),
    "session-agent-groups": routes.map(([number, dest]) => ({
      "group-name": `for-${number}`,
      strategy: "hunt",
      dest,
      ...setup.groups?.[number],
    })),
    "local-policies": routes.map(([number]) => ({
      "from-address": ["*"],
      "to-address": [number],
      "source-realm": ["*"],
      "policy-attributes": [{ "next-hop": `SAG:for-${number}`, cost: 0 }],
    })),
    admin: { listen: admin },
    logging: { level: "info" },
    ...setup.more,
  };
}
