import type { AgentParams } from "../agents/params.ts";
import type { HeaderRule, HeaderRuleSet } from "../config/header-rules.ts";
import { Pattern } from "../routing/pattern.ts";

/** A message passed from one leg to the other, as far as rules tell them apart. */
export type PassedKind = "requests" | "responses";

/** Whose rules apply; undefined = a peer that is no session agent. */
type Peer = { readonly params: AgentParams } | undefined;

interface Step {
  readonly rule: HeaderRule;
  readonly pattern: Pattern | undefined;
}

/** Applies what agents' `in-header-rules` and `out-header-rules` say to the headers that pass from leg to leg. */
export class HeaderRules {
  readonly #byId: ReadonlyMap<string, readonly Step[]>;

  constructor(sets: readonly HeaderRuleSet[]) {
    this.#byId = new Map(sets.map(({ id, rules }) => [id, rules.map(stepOf)]));
  }

  /** First the rules of whom the message is from, then those of whom it goes to. */
  apply(headers: Record<string, string>, kind: PassedKind, from: Peer, to: Peer): void {
    if (this.#byId.size === 0) return;
    this.#run(from?.params["in-header-rules"], headers, kind);
    this.#run(to?.params["out-header-rules"], headers, kind);
  }

  #run(id: string | undefined, headers: Record<string, string>, kind: PassedKind): void {
    for (const { rule, pattern } of this.#byId.get(id ?? "") ?? []) {
      if (rule.messages === "all" || rule.messages === kind) run(rule, pattern, headers);
    }
  }
}

function stepOf(rule: HeaderRule): Step {
  const pattern = rule.pattern === "" ? undefined : Pattern.parse(rule.pattern);
  // The configuration was checked: a pattern that is none is a defect.
  if (pattern && !(pattern instanceof Pattern)) throw new TypeError(pattern.error);
  return { rule, pattern };
}

function run(
  { action, header, value }: HeaderRule,
  pattern: Pattern | undefined,
  headers: Record<string, string>,
): void {
  const names = namesIn(headers, header);
  if (action === "add") {
    const [name = header] = names;
    const present = headers[name];
    headers[name] = present === undefined ? value : `${present}, ${value}`;
  }
  for (const name of names) {
    const present = headers[name] ?? "";
    if (action === "remove" && (!pattern || pattern.test(present))) delete headers[name];
    if (action === "replace") headers[name] = pattern ? pattern.replace(present, value) : value;
  }
}

/** The field's names as they stand there: they are the same in any case, and a message may write one in several ways. */
const namesIn = (headers: Readonly<Record<string, string>>, header: string): string[] => {
  const wanted = header.toLowerCase();
  return Object.keys(headers).filter((name) => name.toLowerCase() === wanted);
};
