/** Edits (insert, delete, replace, swap neighbours) that turn one word into the other. */
function distance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let best = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1));
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) best = Math.min(best, at(beforeLast, column - 2) + 1);
      current.push(best);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;

/** Names longer than this are not compared: no name of ours comes near, and the work grows with the square. */
const longest = 64;

/** `; did you mean "x"?` for the known name that is nearest to a mistyped one, or "" when none is near. */
export function didYouMean(typed: string, known: Iterable<string>): string {
  if (typed.length > longest) return "";
  const word = typed.toLowerCase().replaceAll("_", "-");
  let nearest = "";
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= least) continue;
    const edits = distance(word, candidate.toLowerCase().replaceAll("_", "-"));
    if (edits < least) {
      least = edits;
      nearest = candidate;
    }
  }
  return nearest === "" ? "" : `; did you mean "${nearest}"?`;
}
