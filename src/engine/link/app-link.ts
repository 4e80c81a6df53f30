/**
 * The two halves of a connection between the engine and one application (drachtio-srf): the link carries payloads, the
 * session (`AppPeer`) understands them. A payload is one protocol frame without its length prefix, as latin1 text: one
 * character per byte of the SIP message it may carry.
 */
export interface AppLink {
  /** Who is at the other end, for logs. */
  readonly peer: string;
  /**
   * The application packs and unpacks messages itself (`packedDialect`), and needs no more than raw calls do. Otherwise they
   * are shown and echoed whole, as drachtio-srf with its Dialog objects needs them.
   */
  readonly packed: boolean;
  /** Pass 100 responses to INVITE to the application (drachtio-server does not). */
  readonly reportTrying: boolean;
  /** The application never registers routes (drachtio-srf in listen mode): every method goes to it. */
  readonly routesEverything: boolean;
  /** The secret the application must present; undefined = any. */
  readonly secret: string | undefined;
  /** The application has shown the secret, or another. */
  authenticated?(right: boolean): void;
  /**
   * Queues a payload; payloads arrive in order. `apart` keeps it out of the event-loop turn in which earlier ones arrive,
   * so that promises those resolve run first.
   */
  deliver(payload: string, apart?: boolean): void;
  /** Ends the connection after what is queued. */
  close(): void;
}

/** The engine's end of a link. */
export interface AppPeer {
  receive(payload: string): void;
  /** The application is gone: its calls are ended by the book. */
  closed(): void;
}

/** What a link needs of the engine. */
export interface LinkHost {
  attach(link: AppLink): AppPeer;
  /** Runs `stage` once the messages of the current turn have been handled, and writes to the network what it sent. */
  appStage(stage: () => void): void;
}
