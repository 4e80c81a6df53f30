import { type FastifyInstance, type FastifyReply, fastify } from "fastify";
import { WeirError } from "../errors.ts";
import type { BadQuery, ExplainQuery } from "./explain-query.ts";
import type { Metrics } from "./metrics.ts";
import { version } from "./version.ts";

/** What the API shows; each is asked at the moment of the request. */
export interface AdminViews {
  readonly agents: {
    [Symbol.iterator](): Iterator<{ snapshot(): object }>;
    get(hostname: string): { snapshot(): object } | undefined;
  };
  groups(): readonly object[];
  calls(): readonly object[];
  /** At most `limit`, of one address of record (`user@host`) where it is given. */
  registrations(limit: number, aor?: string): readonly object[];
  /** Our own with agents. */
  surrogates(): readonly object[];
  /** Where a call would go and why; no call is made and nothing is moved. */
  explain(query: ExplainQuery): object | BadQuery;
  /** What must be true before traffic should be sent here, and is not. Empty = ready. */
  missing(): readonly string[];
}

/** Registrations shown at a time: a hundred thousand of them would be a page of 40 MB. */
const maxRegistrations = 1_000;

/** The admin API: JSON for people and tools, and Prometheus metrics. It shows and never changes anything. */
export class AdminApi {
  readonly #http: FastifyInstance;

  constructor(views: AdminViews, metrics: Metrics) {
    // Kept connections of scrapers must not delay the end of the program.
    this.#http = fastify({ forceCloseConnections: true });
    this.#http.get("/healthz", () => ({ status: "ok", version, uptimeS: Math.floor(process.uptime()) }));
    this.#http.get("/readyz", (_request, reply) => {
      const missing = views.missing();
      return reply.code(missing.length === 0 ? 200 : 503).send({ ready: missing.length === 0, missing });
    });
    this.#http.get("/metrics", async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()));
    this.#http.get("/v1/agents", () => ({
      agents: Array.from(views.agents, (agent) => withoutHistory(agent.snapshot())),
    }));
    this.#http.get<{ Params: { hostname: string } }>("/v1/agents/:hostname", (request, reply) => {
      const { hostname } = request.params;
      const agent = views.agents.get(hostname);
      return agent ? agent.snapshot() : notFound(reply, `there is no session agent ${hostname}`);
    });
    this.#http.get("/v1/groups", () => ({ groups: views.groups() }));
    this.#http.get("/v1/calls", () => ({ calls: views.calls() }));
    this.#http.get<{ Querystring: { aor?: string } }>("/v1/registrations", (request) => ({
      registrations: views.registrations(maxRegistrations, request.query.aor),
      surrogates: views.surrogates(),
    }));
    this.#http.get<{ Querystring: ExplainQuery }>("/v1/explain", (request, reply) => {
      const explanation = views.explain(request.query);
      return "error" in explanation ? reply.code(400).send(explanation) : explanation;
    });
    this.#http.setNotFoundHandler((request, reply) => notFound(reply, `there is no ${request.method} ${request.url}`));
  }

  /** Port 0 chooses a free one. The address that is served. Throws WEIR_LISTEN_FAILED. */
  async start(listen: { readonly address: string; readonly port: number }): Promise<string> {
    try {
      return await this.#http.listen({ host: listen.address, port: listen.port });
    } catch (cause) {
      throw new WeirError("WEIR_LISTEN_FAILED", { protocol: "http", ...listen }, { cause });
    }
  }

  async stop(): Promise<void> {
    await this.#http.close();
  }
}

/** The list is read often and by machines; an agent's last transitions are shown with that agent alone. */
function withoutHistory(snapshot: object): object {
  const { transitions: _, ...rest } = snapshot as { transitions?: unknown };
  return rest;
}

const notFound = (reply: FastifyReply, message: string): FastifyReply => reply.code(404).send({ error: message });
