import type { AgentManager } from "../agents/agent-manager.ts";
import type { SessionAgent } from "../agents/session-agent.ts";
import type { RouteRequest } from "./policy-table.ts";
import { type Numbers, Translation } from "./translation.ts";
import type { TranslationParams } from "./translation-params.ts";

/** What a realm says about numbers; the session agents in it may say otherwise. */
export interface RealmTranslation {
  readonly identifier: string;
  readonly "in-translationid"?: string;
  readonly "out-translationid"?: string;
}

/** Finds the translation that is for a request. Where there is none at all, nothing is looked up. */
export class Translations {
  readonly #agents: AgentManager;
  readonly #byId: ReadonlyMap<string, Translation>;
  readonly #realms: ReadonlyMap<string, RealmTranslation>;

  constructor(translations: readonly TranslationParams[], realms: readonly RealmTranslation[], agents: AgentManager) {
    this.#agents = agents;
    this.#byId = new Map(translations.map((params) => [params.id, new Translation(params)]));
    this.#realms = new Map(realms.map((realm) => [realm.identifier, realm]));
  }

  /** What the call's numbers are once it is in: undefined = as they came. */
  inbound({ source, sourceRealm, to, from }: RouteRequest): Numbers | undefined {
    if (this.#byId.size === 0) return undefined;
    const agent = source === undefined ? undefined : this.#agents.get(source);
    const id = agent?.params["in-translationid"] || this.#realms.get(sourceRealm)?.["in-translationid"];
    return this.#apply(id, { called: to, calling: from });
  }

  /** What they are on the way to an agent: undefined = as they are. */
  outbound(agent: SessionAgent, numbers: Numbers): Numbers | undefined {
    if (this.#byId.size === 0) return undefined;
    const { params } = agent;
    const realm = this.#realms.get(params["realm-id"] || "default");
    return this.#apply(params["out-translationid"] || realm?.["out-translationid"], numbers);
  }

  #apply(id: string | undefined, numbers: Numbers): Numbers | undefined {
    return id ? this.#byId.get(id)?.apply(numbers) : undefined;
  }
}
