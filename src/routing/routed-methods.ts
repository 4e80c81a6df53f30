/** Beside calls and registrations, what is routed by local policy outside any dialog. */
export const relayedMethods: ReadonlySet<string> = new Set(["MESSAGE", "PUBLISH", "SUBSCRIBE", "OPTIONS", "REFER"]);

/** What policies are asked about: requests that start something. */
export const routedMethods: ReadonlySet<string> = new Set(["INVITE", "REGISTER", ...relayedMethods]);

/**
 * Those that only a policy which names them lets pass: a peer that asks after us may well name a user in doing so, and
 * whoever can make an agent call others by REFER calls at its cost.
 */
export const namedMethods: ReadonlySet<string> = new Set(["OPTIONS", "REFER"]);
