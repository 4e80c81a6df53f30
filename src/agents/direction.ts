/** inbound: received from the agent; outbound: sent to it (SEMANTICS section 1). */
export type Direction = "inbound" | "outbound";
