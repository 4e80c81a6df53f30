import type { Ms } from "../clock.ts";

/** A time for which something is kept away: from `from` until just before `until`. */
export interface Hold {
  readonly from: Ms;
  readonly until: Ms;
}

/** Before it began it is over as well: the clock has jumped back since, and it must not last for as long as the jump. */
export function isOn(hold: Hold | undefined, now: Ms): hold is Hold {
  return hold !== undefined && now >= hold.from && now < hold.until;
}
