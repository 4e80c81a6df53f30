import type { AgentSnapshot } from "../agents/snapshot.ts";
import type { CallSnapshot } from "../calls/record.ts";
import { type Clock, type Ms, systemClock } from "../clock.ts";
import type { SignallingConfig, WeirConfig } from "../config/config.ts";
import { loadConfig } from "../config/load.ts";
import { formatProblem } from "../config/problems.ts";
import { startWeir, type Weir } from "../main.ts";
import type { Log } from "../operations/log.ts";
import { createSignalling } from "../signalling/create-signalling.ts";
import type { Signalling, SignallingUser } from "../signalling/port.ts";
import { type CallerCounts, DemoCallers } from "./callers.ts";
import { DemoCarrier } from "./carrier.ts";
import { carriers, configuration, habits } from "./cast.ts";
import { freeUdpPorts, loopback } from "./ports.ts";

/** One moment of the demo. */
export interface View {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Since the start. */
  readonly elapsed: Ms;
  readonly agents: readonly AgentSnapshot[];
  readonly calls: readonly CallSnapshot[];
  readonly counts: CallerCounts;
}

/** How long hanging up all calls may take, far more than it does, before the sockets close in any case. */
const hangUpMs: Ms = 3_000;
const pollMs: Ms = 20;

/** Weir with carriers and callers around it, all in this process and all on real sockets on loopback. */
export class Demo {
  /** `host:port`: calls of one's own may go there too. */
  readonly address: string;
  readonly #clock: Clock;
  readonly #weir: Weir;
  readonly #callers: DemoCallers;
  readonly #peers: readonly Signalling[];
  readonly #startedAt: Ms;

  private constructor(address: string, clock: Clock, weir: Weir, callers: DemoCallers, peers: readonly Signalling[]) {
    this.address = address;
    this.#clock = clock;
    this.#weir = weir;
    this.#callers = callers;
    this.#peers = peers;
    this.#startedAt = clock.now();
  }

  /** Starts the carriers, Weir, then the callers. Throws WEIR_LISTEN_FAILED. */
  static async start(log: Log): Promise<Demo> {
    const [clock, random] = [systemClock, Math.random];
    const [weirPort = 0, callersPort = 0, ...carrierPorts] = await freeUdpPorts(2 + carriers.length);
    const config = configOf(configuration({ weirPort, callersPort, carrierPorts }));
    const peer = (port: number): Signalling => createSignalling(listeningOn(config.signalling, port), { clock, log });

    const peers = carrierPorts.map(peer);
    const cast: SignallingUser[] = carriers.map(({ manner }) => new DemoCarrier(manner, { clock, random }));
    const callerSide = peer(callersPort);
    const address = `${loopback}:${weirPort}`;
    const callers = new DemoCallers(callerSide, address, habits, { clock, random });
    const everyone = [...peers, callerSide];
    try {
      await Promise.all([callerSide.start(callers), ...cast.map((carrier, index) => peers[index]?.start(carrier))]);
      const weir = await startWeir(config, { log });
      callers.start();
      return new Demo(address, clock, weir, callers, everyone);
    } catch (error) {
      await stopAll(everyone);
      throw error;
    }
  }

  /** Of Weir's admin API. */
  get adminUrl(): string {
    return this.#weir.adminUrl;
  }

  view(): View {
    return {
      now: this.#clock.date(),
      elapsed: this.#clock.now() - this.#startedAt,
      agents: Array.from(this.#weir.agents, (agent) => agent.snapshot()),
      calls: this.#weir.calls.list(),
      counts: this.#callers.counts,
    };
  }

  /** Hangs up on every call, then ends Weir and everyone around it. */
  async stop(): Promise<void> {
    this.#callers.stop();
    const deadline = this.#clock.now() + hangUpMs;
    while (this.#callers.active + this.#weir.calls.active > 0 && this.#clock.now() < deadline) {
      await new Promise<void>((resolve) => this.#clock.after(pollMs, resolve));
    }
    await this.#weir.stop();
    await stopAll(this.#peers);
  }
}

async function stopAll(peers: readonly Signalling[]): Promise<void> {
  await Promise.all(peers.map((peer) => peer.stop()));
}

function configOf(text: string): WeirConfig {
  // The environment sets a Weir of one's own, not this one.
  const loaded = loadConfig(text, "demo", {});
  if ("config" in loaded) return loaded.config;
  throw new Error(loaded.errors.map(formatProblem).join("\n"));
}

const listeningOn = (signalling: SignallingConfig, port: number): SignallingConfig => ({
  ...signalling,
  listen: [{ protocol: "udp", address: loopback, port }],
});
