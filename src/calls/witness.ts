import type { Evidence } from "../agents/evidence.ts";
import type { SessionAgent } from "../agents/session-agent.ts";
import type { Ms } from "../clock.ts";
import type { Endpoint } from "../location.ts";
import type { IncomingResponse, Outcome } from "../signalling/port.ts";

/** Who a request outside any dialog was sent to, and when. */
export interface Sending {
  readonly agent: SessionAgent | undefined;
  readonly endpoint?: Endpoint | undefined;
  readonly sentAt: Ms;
  readonly createsDialog?: true | undefined;
}

/** Tells an agent what came of one request that was sent to it. */
export class Witness {
  readonly #sending: Sending;
  #heard = false;

  constructor(sending: Sending) {
    this.#sending = sending;
  }

  response({ status, headers }: IncomingResponse): void {
    const { createsDialog, sentAt } = this.#sending;
    const retryAfterS = status === 503 ? Number.parseInt(headers["retry-after"] ?? "", 10) : Number.NaN;
    this.#tell({
      kind: "response",
      purpose: "traffic",
      status,
      ...(createsDialog && { createsDialog }),
      ...(Number.isNaN(retryAfterS) ? {} : { retryAfterS }),
      ...(!this.#heard && { sentAt }),
    });
    this.#heard = true;
  }

  final(outcome: Outcome): void {
    const purpose = "traffic";
    if (outcome.kind === "response") this.response(outcome.response);
    else if (outcome.kind === "timeout") this.#tell({ kind: "timeout", purpose });
    else if (outcome.kind === "transport-failure") {
      const kind = outcome.unresolved ? "name-failure" : "transport-failure";
      this.#tell({ kind, purpose, detail: outcome.detail });
    }
  }

  #tell(evidence: Evidence): void {
    const { agent, endpoint } = this.#sending;
    agent?.observe(endpoint ? { ...evidence, endpoint } : evidence);
  }
}
