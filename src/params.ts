/**
 * One configuration parameter: the single source for its type, its check, its default and its row in the
 * documentation. Names are kebab-case, as operators type them (SEMANTICS.md).
 */
export type Param =
  | {
      readonly format: "number";
      readonly unit: string;
      readonly default: number;
      readonly min: number;
      readonly max: number;
      /** True where a fraction makes sense; whole numbers only otherwise. */
      readonly fraction?: true;
      readonly doc: string;
    }
  | { readonly format: "text"; readonly default: string; readonly doc: string }
  | { readonly format: "switch"; readonly default: "enabled" | "disabled"; readonly doc: string }
  | { readonly format: "choice"; readonly choices: readonly string[]; readonly default: string; readonly doc: string }
  /** Response codes: single codes and ranges such as "500-599", as a list or comma-separated text. */
  | { readonly format: "codes"; readonly default: readonly string[]; readonly doc: string };

export type Params = Readonly<Record<string, Param>>;

type ValueOf<P extends Param> = P extends { format: "number" }
  ? number
  : P extends { format: "codes" }
    ? readonly CodeRange[]
    : P extends { format: "switch" }
      ? "enabled" | "disabled"
      : P extends { format: "choice"; choices: readonly (infer C)[] }
        ? C
        : string;

/** The checked values of a table of parameters, by their kebab-case names. */
export type ValuesOf<T extends Params> = { readonly [K in keyof T]: ValueOf<T[K]> };

/** A range of response codes, both ends included. */
export interface CodeRange {
  readonly from: number;
  readonly to: number;
}

export const matchesCode = (ranges: readonly CodeRange[], status: number): boolean =>
  ranges.some((range) => status >= range.from && status <= range.to);

/** "503" or "500-599"; undefined when it is neither or lies outside 100-699. */
export function parseCodeRange(text: string): CodeRange | undefined {
  const match = /^\s*([1-6]\d\d)(?:\s*-\s*([1-6]\d\d))?\s*$/.exec(text);
  if (!match) return undefined;
  const from = Number(match[1]);
  const to = Number(match[2] ?? match[1]);
  return from <= to ? { from, to } : undefined;
}

/** All parameters at their defaults. */
export function defaultsOf<T extends Params>(table: T): ValuesOf<T> {
  const values: Record<string, unknown> = {};
  for (const [name, param] of Object.entries(table)) {
    values[name] = param.format === "codes" ? param.default.map(parseCodeRange) : param.default;
  }
  return values as ValuesOf<T>;
}
