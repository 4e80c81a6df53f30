/** Which side a column's cells stand on. */
export type Align = "left" | "right";

/** Rows of cells as lines of one width, two spaces between columns. The last column's alignment holds for further ones. */
export function columns(rows: readonly (readonly string[])[], align: readonly Align[]): string[] {
  const count = Math.max(...rows.map((row) => row.length));
  const width = Array.from({ length: count }, (_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const side = align[column] ?? align.at(-1);
        return side === "right" ? cell.padStart(width[column] ?? 0) : cell.padEnd(width[column] ?? 0);
      })
      .join("  ")
      .trimEnd(),
  );
}
