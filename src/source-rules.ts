import type { Endpoint } from "./location.ts";

/** How a request is refused before anything is made of it. */
export interface SourceRefusal {
  readonly status: number;
  /** Default: the registered one. */
  readonly reason?: string;
  readonly "q850-cause"?: number;
  /** Seconds, both ends included; Retry-After is drawn between them. */
  readonly retryAfter?: { readonly min: number; readonly max: number };
  /** Not even that is sent, where the engine can keep silent. */
  readonly silent?: true;
}

/** Whose requests are heard in one realm. */
export interface SourceRules {
  readonly realm: string;
  readonly listen: readonly Endpoint[];
  /** Numeric addresses of the realm's session agents. Of these only `denyFrom` keeps anything away. */
  readonly agents: readonly string[];
  /** Nobody but agents is heard; the refusal is silence. */
  readonly closed: boolean;
  /** `192.0.2.0/24`; empty = everybody. */
  readonly allowFrom: readonly string[];
  readonly denyFrom: readonly string[];
  /** Requests per second of one address, over `window` seconds; 0 = no limit. */
  readonly maxRate: number;
  readonly window: number;
  /** Parts of a User-Agent that scanners betray themselves by. */
  readonly dropUserAgents: readonly string[];
  /** To sources that the lists keep away. */
  readonly unknown: SourceRefusal;
  /** To sources above `maxRate`. */
  readonly tooMany: SourceRefusal;
}
