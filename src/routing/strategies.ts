import { agentsOf, isNest, type Member, type Nest } from "./member.ts";
import type { Strategy } from "./params.ts";

/** What a group remembers from one choice to the next. */
export interface Memory {
  /** Place of the member chosen last; -1 before the first choice. */
  last: number;
  /** prop-dist: what each member has earned and not yet been paid, in calls. */
  readonly credit: Map<Member, number>;
}

export const newMemory = (): Memory => ({ last: -1, credit: new Map() });

export const copyOf = (memory: Memory): Memory => ({ last: memory.last, credit: new Map(memory.credit) });

/** Picks among the members that pass `eligible` (SEMANTICS.md section 5). Nothing but `memory` changes. */
export type Chooser = (
  members: readonly Member[],
  eligible: (member: Member) => boolean,
  memory: Memory,
) => Member | undefined;

export const choosers: Record<Strategy, Chooser> = {
  hunt: (members, eligible) => members.find(eligible),

  "round-robin": (members, eligible, memory) => leastFirst(members, eligible, memory),

  "least-busy": (members, eligible, memory) => leastFirst(members, eligible, memory, compareLoad),

  "low-sus-rate": (members, eligible, memory) =>
    leastFirst(members, eligible, memory, (a, b) => sustainedRate(a) - sustainedRate(b)),

  /** Smooth weighted rotation: each round every eligible member earns its share of a call, the richest pays one call. */
  "prop-dist": (members, eligible, { credit }) => {
    const taking = members.filter(eligible);
    const weights = weightsOf(taking);
    const sum = total(weights);
    let best: Member | undefined;
    let most = Number.NEGATIVE_INFINITY;
    taking.forEach((member, i) => {
      const earned = (credit.get(member) ?? 0) + (weights[i] ?? 0) / sum;
      credit.set(member, earned);
      // What differs by less is the same, up to the error of adding fractions: the earlier member is taken.
      if (earned > most + 1e-9) {
        best = member;
        most = earned;
      }
    });
    if (best !== undefined) credit.set(best, most - 1);
    return best;
  },
};

/** The least by `compare`, or any without it; equals take turns, starting after the last one chosen. */
function leastFirst(
  members: readonly Member[],
  eligible: (member: Member) => boolean,
  memory: Memory,
  compare?: (a: Member, b: Member) => number,
): Member | undefined {
  let best: Member | undefined;
  let bestAt = -1;
  for (let step = 1; step <= members.length; step++) {
    const at = (memory.last + step) % members.length;
    const member = members[at];
    if (!member || !eligible(member)) continue;
    if (best === undefined || (compare && compare(member, best) < 0)) {
      best = member;
      bestAt = at;
    }
    if (!compare) break;
  }
  if (best !== undefined) memory.last = bestAt;
  return best;
}

/**
 * Share of the limit in use; without a limit 0 while idle. Two members without a limit compare by their count, and one
 * without beats one with only when idle or when the other is as busy as can be.
 */
function compareLoad(a: Member, b: Member): number {
  const limitA = limitOf(a);
  const limitB = limitOf(b);
  const activeA = activeOf(a);
  const activeB = activeOf(b);
  if (limitA === 0 && limitB === 0) return activeA - activeB;
  return load(activeA, limitA) - load(activeB, limitB);
}

/** A busy member without a limit ranks below every one with room: how full it is cannot be told. */
const load = (active: number, limit: number): number => (limit > 0 ? active / limit : active === 0 ? 0 : 1);

/** max-outbound-sessions, else max-sessions; 0 = no limit. A group's is the sum, 0 when any of its agents has none. */
function limitOf(member: Member): number {
  if (!isNest(member)) return member.params["max-outbound-sessions"] || member.params["max-sessions"];
  const limits = working(member).map(limitOf);
  return limits.includes(0) ? 0 : total(limits);
}

const activeOf = (member: Member): number =>
  isNest(member) ? total(working(member).map(activeOf)) : member.outboundActive;

const sustainedRate = (member: Member): number =>
  isNest(member) ? total(working(member).map(sustainedRate)) : member.outboundSustainRate;

/** The agents that make up what a nested group can carry now: full ones do, those out of service do not. */
const working = (nest: Nest) => agentsOf(nest).filter(({ letter }) => letter === "I" || letter === "C");

/** Members without a limit take the mean weight of the others; 1 each when none has a limit. */
function weightsOf(members: readonly Member[]): number[] {
  const limits = members.map(limitOf);
  const known = limits.filter((limit) => limit > 0);
  const mean = known.length > 0 ? total(known) / known.length : 1;
  return limits.map((limit) => limit || mean);
}

const total = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);
