/** A number, a measure such as `3/10` or `3/-`, a span such as `0:01:23`, or the dash for none of them. An address is no number. */
const numeric = /^(\d+(\.\d+)?(\/(\d+(\.\d+)?|-))?|\d+(:\d\d){2}|-)$/;

/** Columns under a head, as wide as their widest cell; numbers are set to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const columns = head.map((title, at) => {
    const cells = rows.map((row) => row[at] ?? "");
    const width = Math.max(title.length, ...cells.map((cell) => cell.length));
    return { width, right: cells.length > 0 && cells.every((cell) => numeric.test(cell)) };
  });
  const line = (cells: readonly string[]): string =>
    columns
      .map(({ width, right }, at) => (right ? (cells[at] ?? "").padStart(width) : (cells[at] ?? "").padEnd(width)))
      .join("  ")
      .trimEnd();
  return [line(head), ...rows.map(line)].join("\n");
}

/** A measure and its limit; 0 = no limit. */
export const measure = (value: number, maximum: number): string =>
  `${round(value)}/${maximum > 0 ? round(maximum) : "-"}`;

/** At most one digit after the point. */
export const round = (value: number): string => String(Math.round(value * 10) / 10);
