import type { Params, ValuesOf } from "../params.ts";

const text = (doc: string) => ({ format: "text", default: "", doc }) as const;

/** One step in a translation. Which parameters a type takes is in `fieldsOf`. */
export const numberRuleParams = {
  type: {
    format: "choice",
    choices: ["strip", "prefix", "replace", "regex", "e164"],
    default: "regex",
    doc: "What is done to the number; required.",
  },
  digits: {
    format: "number",
    unit: "count",
    default: 0,
    min: 0,
    max: 32,
    doc: "strip: so many leading digits go, whatever they are.",
  },
  match: text("strip: these leading digits go. replace: these are replaced. A number that starts otherwise is left."),
  value: text("prefix: what is put in front. replace, regex: what is put instead; `$1` is the first group of a regex."),
  pattern: text("regex: RE2 syntax; the first match in the number is replaced."),
  "country-code": text("e164: what numbers without an international prefix are given, such as 44."),
  "national-prefix": text("e164: what national numbers start with instead, such as 0."),
  "international-prefix": text("e164: what is dialled for `+`, such as 00."),
} as const satisfies Params;

export type NumberRule = ValuesOf<typeof numberRuleParams>;
export type NumberField = Exclude<keyof NumberRule, "type">;

/** What each type takes: one of `oneOf` must be set, `optional` may be. */
export const fieldsOf: Readonly<
  Record<NumberRule["type"], { readonly oneOf: readonly NumberField[]; readonly optional: readonly NumberField[] }>
> = {
  strip: { oneOf: ["digits", "match"], optional: [] },
  prefix: { oneOf: ["value"], optional: [] },
  replace: { oneOf: ["match"], optional: ["value"] },
  regex: { oneOf: ["pattern"], optional: ["value"] },
  e164: { oneOf: ["country-code"], optional: ["national-prefix", "international-prefix"] },
};

/** Translation rules as configured: each list is gone through in order. */
export interface TranslationParams {
  readonly id: string;
  readonly called: readonly NumberRule[];
  readonly calling: readonly NumberRule[];
}
