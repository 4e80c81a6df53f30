/**
 * True below `npm start` and the like. npm ends at SIGTERM without passing it on, so a program it started must watch for
 * the death of its parent.
 */
export const startedByNpm = (environment = process.env): boolean => environment.npm_lifecycle_event !== undefined;
