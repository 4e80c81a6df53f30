import type { AgentParams } from "../agents/params.ts";
import type { FailoverParams, GroupParams, PolicyParams } from "../routing/params.ts";
import type { TranslationParams } from "../routing/translation-params.ts";
import type { Credentials } from "../secret.ts";
import type { SourceRules } from "../source-rules.ts";
import type { TlsFiles } from "../tls-files.ts";
import type { HeaderRuleSet } from "./header-rules.ts";
import type { LocalResponseMap } from "./local-responses.ts";

export interface ListenAddress {
  readonly protocol: "udp" | "tcp" | "tls";
  /** Numeric address; IPv6 without brackets. */
  readonly address: string;
  readonly port: number;
}

/** How TLS is spoken by the embedded engine; files by their absolute names. */
export interface TlsConfig extends TlsFiles {
  /** Of peers that connect. */
  readonly clientCertificate: "none" | "request" | "require";
  readonly minVersion: "TLSv1.2" | "TLSv1.3";
  /** Whether servers that are no `peers` must show a certificate that fits. */
  readonly verify: boolean;
  /** The agents on TLS. */
  readonly peers: readonly {
    /** What they are asked for by, and what their certificates may name. */
    readonly name: string;
    /** Numeric; "" = the name is looked up. */
    readonly address: string;
    readonly port: number;
    readonly verify: boolean;
  }[];
}

export interface SignallingConfig {
  readonly engine: "embedded" | "drachtio";
  /** Where the embedded engine runs: in the application's thread, or in a worker thread. */
  readonly thread: "same" | "worker";
  readonly listen: readonly ListenAddress[];
  readonly drachtio: { readonly host: string; readonly port: number; readonly secret: string };
  /** There where TLS is listened on. */
  readonly tls?: TlsConfig;
  /** RFC 3261 table 4, milliseconds. */
  readonly timers: { readonly t1: number; readonly t2: number; readonly t4: number };
  /** How the embedded engine finds names; default: as the system does. */
  readonly dns?: DnsConfig;
  /** Whose requests are heard, by realm; default: everybody's. */
  readonly sources?: readonly SourceRules[];
}

/** What is kept of registrations at most. */
export interface RegistrationLimits {
  readonly "max-registrations": number;
  /** Of one address of record. */
  readonly "max-contacts": number;
}

/** What ends an answered call that nobody hangs up on. Seconds; 0 = never. */
export interface SessionLimits {
  readonly "max-life-limit": number;
  /** Between the OPTIONS that are sent to both sides within the call. */
  readonly "dialog-ping-interval": number;
}

/** How names become addresses (RFC 3263). */
export interface DnsConfig {
  /** `address` or `address:port`; empty = those of the system. */
  readonly servers: readonly string[];
  /** Seconds. */
  readonly timeout: number;
  /** Seconds. */
  readonly "max-stale": number;
}

/** Sources that are kept away before anything is made of their requests. */
export interface SourceConfig {
  /** `192.0.2.0/24`; empty = everybody. */
  readonly "allow-from": readonly string[];
  readonly "deny-from": readonly string[];
  /** Requests per second of one address; 0 = no limit. */
  readonly "max-source-rate": number;
  /** Seconds. */
  readonly "source-rate-window": number;
  /** Parts of a User-Agent. */
  readonly "drop-user-agents": readonly string[];
}

export interface RealmConfig {
  readonly identifier: string;
  readonly listen: readonly ListenAddress[];
  readonly allow: "any" | "agents";
  /** What keeps sources away; default: nothing. */
  readonly sources?: SourceConfig;
  /** Ids of `translation-rules` for agents of the realm without their own, and for calls that enter through it; "" = none. */
  readonly "in-translationid"?: string;
  readonly "out-translationid"?: string;
}

/** The whole configuration: checked, with every default filled in. */
export interface WeirConfig {
  readonly signalling: SignallingConfig;
  /** Never empty: without realms in the file there is one, `default`, on signalling.listen, that allows any source. */
  readonly realms: readonly RealmConfig[];
  readonly "session-agents": readonly AgentParams[];
  /** By hostname of the session agent that they satisfy. */
  readonly credentials: ReadonlyMap<string, Credentials>;
  readonly "session-agent-groups": readonly GroupParams[];
  readonly "local-policies": readonly PolicyParams[];
  readonly "translation-rules": readonly TranslationParams[];
  readonly "header-rules": readonly HeaderRuleSet[];
  readonly failover: FailoverParams;
  readonly sessions: SessionLimits;
  readonly overload: { /** Percent; 0 = none. */ readonly "load-limit": number };
  readonly registrations: RegistrationLimits;
  /** Seconds. Retry-After of refusals is drawn between the two (SEMANTICS.md section 7). */
  readonly "retry-after": { readonly min: number; readonly max: number };
  /** What callers are told instead of Weir's own refusals (SEMANTICS.md section 7). */
  readonly "local-response-map": LocalResponseMap;
  readonly dns: DnsConfig;
  /** For all realms that say nothing else. */
  readonly sources: SourceConfig;
  readonly drain: { /** Seconds until calls still up are ended with BYE. */ readonly timeout: number };
  readonly admin: { readonly listen: { readonly address: string; readonly port: number } };
  readonly logging: { readonly level: string; readonly format: "json" | "pretty" };
}
