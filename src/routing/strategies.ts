import { agentsOf, isNest, type Member, type Nest } from "./member.ts";
import type { Strategy } from "./params.ts";

/** What a group remembers from one choice to the next. */
export interface Memory {
  /** round-robin: place of the member chosen last; -1 before the first choice. */
  last: number;
  /** Choices so far, where equals take turns. */
  choices: number;
  /** Where equals take turns, by place: which of the choices a member was last, counted from 1; none before its first. */
  readonly turns: number[];
  /** prop-dist: what each member has earned and not yet been paid, in calls. */
  readonly credit: Map<Member, number>;
}

export const newMemory = (): Memory => ({ last: -1, choices: 0, turns: [], credit: new Map() });

export const copyOf = ({ last, choices, turns, credit }: Memory): Memory => ({
  last,
  choices,
  turns: [...turns],
  credit: new Map(credit),
});

/** Picks among the members that pass `eligible` (SEMANTICS.md section 5). Nothing but `memory` changes. */
export type Chooser = (
  members: readonly Member[],
  eligible: (member: Member) => boolean,
  memory: Memory,
) => Member | undefined;

export const choosers: Record<Strategy, Chooser> = {
  hunt: (members, eligible) => members.find(eligible),

  "round-robin": (members, eligible, memory) => {
    for (let step = 1; step <= members.length; step++) {
      const at = (memory.last + step) % members.length;
      const member = members[at];
      if (!member || !eligible(member)) continue;
      memory.last = at;
      return member;
    }
    return undefined;
  },

  "least-busy": (members, eligible, memory) => leastOf(members, eligible, memory, loadOf),

  "low-sus-rate": (members, eligible, memory) => leastOf(members, eligible, memory, sustainedRate),

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

/**
 * The least by `measure`; of equals the one whose last turn is longest ago. To go on after whoever was chosen last is not
 * enough: a member between equals that is full most of the time would hand each of its turns to the one behind it.
 */
function leastOf(
  members: readonly Member[],
  eligible: (member: Member) => boolean,
  memory: Memory,
  measure: (member: Member) => number,
): Member | undefined {
  const { turns } = memory;
  let bestAt = -1;
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < members.length; at++) {
    const member = members[at];
    if (!member || !eligible(member)) continue;
    const measured = measure(member);
    if (measured > least || (measured === least && (turns[at] ?? 0) >= (turns[bestAt] ?? 0))) continue;
    bestAt = at;
    least = measured;
  }
  if (bestAt >= 0) turns[bestAt] = ++memory.choices;
  return members[bestAt];
}

/**
 * Share of the limit in use. How full a member without a limit is cannot be told: idle it is empty, busy it ranks below
 * every one with room, and among its like by its count.
 */
function loadOf(member: Member): number {
  const limit = limitOf(member);
  const active = activeOf(member);
  if (limit > 0) return active / limit;
  return active === 0 ? 0 : 1 + active;
}

/** max-outbound-sessions, else max-sessions; 0 = no limit. A group's is the sum, 0 when any of its agents has none. */
function limitOf(member: Member): number {
  if (!isNest(member)) return member.capacity;
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
