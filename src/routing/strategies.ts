import { agentsOf, isNest, type Member } from "./member.ts";
import type { Strategy } from "./params.ts";

/** Picks among the members that pass `eligible`. Keeps the memory of one group: the last one chosen, the weights. */
export type Chooser = (members: readonly Member[], eligible: (member: Member) => boolean) => Member | undefined;

/** A fresh chooser for one group (SEMANTICS.md section 5). */
export function chooserFor(strategy: Strategy): Chooser {
  return choosers[strategy]();
}

const choosers: Record<Strategy, () => Chooser> = {
  hunt: () => (members, eligible) => members.find(eligible),

  "round-robin": () => {
    let last = -1;
    return (members, eligible) => {
      for (let step = 1; step <= members.length; step++) {
        const at = (last + step) % members.length;
        const member = members[at];
        if (member && eligible(member)) {
          last = at;
          return member;
        }
      }
      return undefined;
    };
  },

  "least-busy": () => leastFirst(compareLoad),

  "low-sus-rate": () => leastFirst((a, b) => sustainedRate(a) - sustainedRate(b)),

  /** Smooth weighted rotation: each round every eligible member earns its weight, the richest pays the sum of all. */
  "prop-dist": () => {
    const credit = new Map<Member, number>();
    return (members, eligible) => {
      const taking = members.filter(eligible);
      const weights = weightsOf(taking);
      let best: Member | undefined;
      let sum = 0;
      taking.forEach((member, i) => {
        const weight = weights[i] ?? 0;
        const earned = (credit.get(member) ?? 0) + weight;
        credit.set(member, earned);
        sum += weight;
        if (best === undefined || earned > (credit.get(best) ?? 0)) best = member;
      });
      if (best !== undefined) credit.set(best, (credit.get(best) ?? 0) - sum);
      return best;
    };
  },
};

/** The least by `compare`; equals take turns, starting after the last one chosen. */
function leastFirst(compare: (a: Member, b: Member) => number): Chooser {
  let last = -1;
  return (members, eligible) => {
    let best: Member | undefined;
    let bestAt = -1;
    for (let step = 1; step <= members.length; step++) {
      const at = (last + step) % members.length;
      const member = members[at];
      if (!member || !eligible(member)) continue;
      if (best === undefined || compare(member, best) < 0) {
        best = member;
        bestAt = at;
      }
    }
    if (best !== undefined) last = bestAt;
    return best;
  };
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
  const limits = agentsOf(member).map(limitOf);
  return limits.includes(0) ? 0 : total(limits);
}

const activeOf = (member: Member): number => total(agentsOf(member).map((agent) => agent.outboundActive));

const sustainedRate = (member: Member): number => total(agentsOf(member).map((agent) => agent.outboundSustainRate));

/** Members without a limit take the mean weight of the others; 1 each when none has a limit. */
function weightsOf(members: readonly Member[]): number[] {
  const limits = members.map(limitOf);
  const known = limits.filter((limit) => limit > 0);
  const mean = known.length > 0 ? total(known) / known.length : 1;
  return limits.map((limit) => limit || mean);
}

const total = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);
