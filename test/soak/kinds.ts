/** What becomes of a call. The first digit of the called number tells the agents; the rest tells calls apart. */
export interface Kind {
  readonly digit: string;
  readonly name: string;
  /** Of a hundred calls. */
  readonly share: number;
  /** How calls of this kind may end for the caller; agents that restart may change the one that is meant. */
  readonly ends: readonly string[];
}

const restarts = ["408", "487", "500", "503"];
const hungUp = ["hung up", "was hung up on"];

export const kinds = [
  { digit: "1", name: "answered, caller hangs up", share: 50, ends: [...hungUp, ...restarts] },
  { digit: "2", name: "answered, agent hangs up", share: 10, ends: [...hungUp, ...restarts] },
  { digit: "3", name: "answered, both hang up at once", share: 8, ends: [...hungUp, ...restarts] },
  { digit: "4", name: "rejected with 404, 486 or 603", share: 10, ends: ["404", "486", "603", ...restarts] },
  { digit: "5", name: "503 at some agents, next one answers", share: 6, ends: [...hungUp, ...restarts] },
  { digit: "6", name: "cancelled while it rings", share: 8, ends: [...hungUp, ...restarts] },
  { digit: "7", name: "cancelled at once", share: 4, ends: [...hungUp, ...restarts] },
  { digit: "8", name: "no agent says anything", share: 3, ends: restarts },
  { digit: "9", name: "answer never acknowledged", share: 1, ends: ["was hung up on", ...restarts] },
] as const satisfies readonly Kind[];

export type Digit = (typeof kinds)[number]["digit"];

const deck: readonly Digit[] = kinds.flatMap(({ digit, share }) => new Array<Digit>(share).fill(digit));

/** The called number of the nth call: the kinds well mixed, in the same order in each run. */
export const numberOf = (call: number): string => `${deck[(call * 37) % deck.length]}${call}`;

export function kindOf(number: string): Kind {
  const kind = kinds.find(({ digit }) => number.startsWith(digit));
  if (!kind) throw new Error(`no kind of call has the number ${number}`);
  return kind;
}
