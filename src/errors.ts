/**
 * Every error that leaves Weir's own code, by stable code. Branch on the code, never on the text.
 * docs/errors.md lists them; a test holds the two together.
 */
export const errorCodes = {
  WEIR_CONFIG_INVALID: "the configuration is not valid",
  WEIR_CONFIG_UNREADABLE: "the configuration file cannot be read",
  WEIR_LISTEN_FAILED: "a listening address cannot be bound",
  WEIR_ENGINE_UNREACHABLE: "the signalling engine cannot be reached",
  WEIR_LEASE_RELEASED_TWICE: "a lease was released a second time",
  WEIR_COUNTER_NEGATIVE: "a session counter would have gone below zero",
  WEIR_LISTENER_THREW: "an event listener threw",
} as const;

export type ErrorCode = keyof typeof errorCodes;

/** An error with a stable `code` and machine-readable `detail`. */
export class WeirError extends Error {
  override readonly name = "WeirError";

  constructor(
    readonly code: ErrorCode,
    readonly detail: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(errorCodes[code], options);
  }
}

/** Waits for what binds an address; where it fails with WEIR_LISTEN_FAILED, the setting that named the address is in its detail. */
export async function listeningAs<T>(setting: string, starting: Promise<T>): Promise<T> {
  try {
    return await starting;
  } catch (error) {
    if (!(error instanceof WeirError) || error.code !== "WEIR_LISTEN_FAILED") throw error;
    throw new WeirError(error.code, { ...error.detail, setting }, { cause: error.cause });
  }
}
