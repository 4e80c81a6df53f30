/** What the core has done since it was made. Only ever goes up. */
export interface CoreCounters {
  /** Requests from the network given to an application. */
  requestsDelivered: number;
  /** Requests sent for an application. */
  requestsSent: number;
  /** Final responses made up for an application: 408 for a silent peer, 503 for an unreachable one. */
  localTimeouts: number;
  localFailures: number;
  /** Requests of applications that could not be sent, and responses to nothing. */
  refusedFrames: number;
  /** Requests from the network refused because no application takes them. */
  withoutApplication: number;
  /** Requests an application left unanswered. */
  unansweredByApplication: number;
  /** Requests for dialogs that are not there. */
  withoutDialog: number;
  /** Requests that would begin a dialog, refused because they do not say where it is to lead. */
  withoutContact: number;
  /** INVITEs of ours that came back to us (482). */
  loops: number;
  /** BYEs sent by the engine itself: no ACK, a cancelled call that was answered, an application gone. */
  byesSent: number;
  /** Messages answered with an error because they could not be parsed. */
  malformedAnswered: number;
}

export const newCoreCounters = (): CoreCounters => ({
  requestsDelivered: 0,
  requestsSent: 0,
  localTimeouts: 0,
  localFailures: 0,
  refusedFrames: 0,
  withoutApplication: 0,
  unansweredByApplication: 0,
  withoutDialog: 0,
  withoutContact: 0,
  loops: 0,
  byesSent: 0,
  malformedAnswered: 0,
});
