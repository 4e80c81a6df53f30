import { numberOf } from "./address.ts";
import { Pattern } from "./pattern.ts";
import type { NumberRule, TranslationParams } from "./translation-params.ts";

/** User parts of a called and a calling address, as they stand in a URI. */
export interface Numbers {
  /** "" when a translation has left nothing of it. */
  readonly called: string;
  readonly calling: string;
}

/** What a calling number is replaced by when its translation leaves nothing of it. */
const anonymous = "anonymous";

/** Changes a number. */
type Step = (number: string) => string;

interface NumberStep {
  /** Only a regular expression is for users that are no numbers. */
  readonly anyUser: boolean;
  readonly run: Step;
}

/** Translation rules, ready to be applied (docs/routing.md). */
export class Translation {
  readonly #called: readonly NumberStep[];
  readonly #calling: readonly NumberStep[];

  constructor(params: TranslationParams) {
    this.#called = params.called.map(stepOf);
    this.#calling = params.calling.map(stepOf);
  }

  apply({ called, calling }: Numbers): Numbers {
    return { called: translated(called, this.#called), calling: translated(calling, this.#calling) || anonymous };
  }
}

/** User parameters (`;npdi`) stay behind the number. What no rule changes stays as it was written. */
function translated(user: string, steps: readonly NumberStep[]): string {
  if (user === "" || steps.length === 0) return user;
  const end = user.indexOf(";");
  const text = end < 0 ? user : user.slice(0, end);
  const number = numberOf(text);
  const before = number || text;
  let after = before;
  for (const { anyUser, run } of steps) if (anyUser || number !== "") after = run(after);
  if (after === before) return user;
  return after === "" || after === "+" ? "" : `${escaped(after)}${end < 0 ? "" : user.slice(end)}`;
}

function stepOf(rule: NumberRule): NumberStep {
  return { anyUser: rule.type === "regex", run: runOf(rule) };
}

function runOf(rule: NumberRule): Step {
  const { match, value } = rule;
  switch (rule.type) {
    case "strip":
      return match === "" ? (number) => number.slice(rule.digits) : withoutPrefix(match, "");
    case "prefix":
      return (number) => value + number;
    case "replace":
      return withoutPrefix(match, value);
    case "regex": {
      const pattern = Pattern.parse(rule.pattern);
      // The configuration was checked: a pattern that is none is a defect.
      if (!(pattern instanceof Pattern)) throw new TypeError(pattern.error);
      return (number) => pattern.replace(number, value);
    }
    case "e164":
      return toE164(rule);
  }
}

const withoutPrefix =
  (prefix: string, instead: string): Step =>
  (number) =>
    number.startsWith(prefix) ? instead + number.slice(prefix.length) : number;

/** `+`, country code and national number, of 15 digits at most (ITU-T E.164); anything else is left as it is. */
function toE164(rule: NumberRule): Step {
  const { "country-code": country, "national-prefix": national, "international-prefix": international } = rule;
  return (number) => {
    if (number.startsWith("+")) return number;
    const full =
      international !== "" && number.startsWith(international)
        ? number.slice(international.length)
        : country + (national !== "" && number.startsWith(national) ? number.slice(national.length) : number);
    return /^[1-9]\d{1,14}$/.test(full) ? `+${full}` : number;
  };
}

/** What may stand in the user part of a URI as it is (RFC 3261 section 25.1); the rest is escaped. */
const escaped = (user: string): string =>
  /^[\w\-.!~*'()&=+$,;?/]*$/.test(user) ? user : user.replace(/[^\w\-.!~*'()&=+$,;?/%]/g, hex);

const hex = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
