import type { Ms } from "../clock.ts";
import { type AgentParams, agentParams } from "./params.ts";

export type WindowName = "burst-rate-window" | "sustain-rate-window" | "register-burst-window";

/** A window of 0 s could hold nothing: it takes its default. */
export const windowLength = (params: AgentParams, name: WindowName): Ms =>
  (params[name] || agentParams[name].default) * 1000;
