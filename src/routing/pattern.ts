import { RE2JS, RE2JSException } from "re2js";

/**
 * A regular expression whose work grows with the length of the text and no faster (docs/adr/0006): an operator's pattern
 * meets whatever callers send.
 */
export class Pattern {
  readonly #pattern: RE2JS;

  private constructor(pattern: RE2JS) {
    this.#pattern = pattern;
  }

  /** The pattern, or what is wrong with it. */
  static parse(text: string): Pattern | { readonly error: string } {
    try {
      return new Pattern(RE2JS.compile(text));
    } catch (error) {
      if (error instanceof RE2JSException) return { error: error.message };
      throw error;
    }
  }

  /** What is wrong with a replacement; undefined when nothing is. */
  faultOf(replacement: string): string | undefined {
    const groups = this.#pattern.groupCount();
    for (const [, digits] of replacement.matchAll(/\$(\d+)/g)) {
      if (Number(digits) > groups) return `names group ${digits}, of which the pattern has ${groups}`;
    }
    return undefined;
  }

  test(text: string): boolean {
    return this.#pattern.matcher(text).find();
  }

  /** The text with its first match replaced; `$1` is the first group. */
  replace(text: string, replacement: string): string {
    return this.#pattern.matcher(text).replaceFirst(replacement);
  }
}
