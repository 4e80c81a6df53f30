/** Exit statuses beside 0 and 1, as sysexits.h names them. */
export const exitCodes = {
  /** EX_UNAVAILABLE: the admin API of a running Weir cannot be reached. */
  unavailable: 69,
  /** EX_OSERR: a listening address cannot be bound, or the signalling engine cannot be reached. */
  system: 71,
  /** EX_CONFIG: the configuration is not valid or cannot be read. */
  configuration: 78,
} as const;
