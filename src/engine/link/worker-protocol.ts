import type { NameSettings } from "../../names/system-names.ts";
import type { SourceRules } from "../../source-rules.ts";
import type { TimerValues } from "../transaction/timers.ts";
import type { Target, TlsSettings } from "../transport/transport.ts";

/** What the engine's thread is started with. */
export interface WorkerSettings {
  readonly listen: readonly Target[];
  readonly timers: TimerValues;
  readonly sources: readonly SourceRules[];
  readonly tls: TlsSettings | undefined;
  readonly dns: NameSettings | undefined;
  readonly packed: boolean;
  readonly reportTrying: boolean;
}

/** From the application's thread to the engine's. Frames travel in batches: one message costs as much as ten frames. */
export type ToEngine =
  | { readonly kind: "frames"; readonly payloads: readonly string[] }
  | { readonly kind: "start" }
  /** The addresses of a realm's agents are these. */
  | { readonly kind: "agents"; readonly realm: string; readonly addresses: readonly string[] }
  /** The application has closed its server. */
  | { readonly kind: "gone" }
  | { readonly kind: "stop" };

/** From the engine's thread to the application's. */
export type FromEngine =
  | { readonly kind: "frames"; readonly payloads: readonly string[] }
  | { readonly kind: "started"; readonly listening: readonly Target[] }
  | { readonly kind: "failed"; readonly detail: Readonly<Record<string, unknown>>; readonly reason: string }
  | { readonly kind: "counters"; readonly counters: object }
  | { readonly kind: "log"; readonly level: "warn" | "debug"; readonly detail: object; readonly message: string }
  | { readonly kind: "stopped" };
