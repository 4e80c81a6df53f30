import type { AgentSnapshot } from "../../src/agents/snapshot.ts";
import { eventually } from "./eventually.ts";
import type { Weir } from "./weir.ts";

/** One agent of a running Weir, as its admin API shows it. */
export class AgentWatch {
  readonly #weir: Weir;
  readonly #hostname: string;

  constructor(weir: Weir, hostname: string) {
    this.#weir = weir;
    this.#hostname = hostname;
  }

  async detail(): Promise<AgentSnapshot> {
    return JSON.parse((await this.#weir.get(`/v1/agents/${this.#hostname}`)).text) as AgentSnapshot;
  }

  async letter(): Promise<string> {
    return (await this.detail()).state.letter;
  }

  /** Waits until it shows this letter; what it shows then. */
  async shows(letter: string, patienceMs?: number): Promise<AgentSnapshot> {
    let now: AgentSnapshot | undefined;
    const look = async () => {
      now = await this.detail();
      return now.state.letter === letter && now;
    };
    return eventually(`${this.#hostname} showing ${letter}`, look, {
      found: () => now && { state: now.state, reason: now.reason, lastPing: now.lastPing },
      ...(patienceMs === undefined ? {} : { patienceMs }),
    });
  }

  /** Its transitions so far: from, to, reason. */
  async path(): Promise<string[]> {
    return (await this.detail()).transitions.map(({ from, to, reason }) => `${from} ${to} ${reason}`);
  }
}
