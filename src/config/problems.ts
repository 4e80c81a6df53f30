import { withoutPasswords } from "./misplaced-secrets.ts";

/** One thing wrong, or odd but legal, in a configuration. */
export interface Problem {
  readonly severity: "error" | "warning";
  /** The file as it was named, or the environment variable. */
  readonly source: string;
  /** From 1; 0 when the source has no lines. */
  readonly line: number;
  /** Such as `session-agents[2].port`; empty when the whole text is meant. */
  readonly path: string;
  /** What was found and what was expected. */
  readonly text: string;
}

/** `weir.yaml:12: session-agents[2].port: found "x", expected …`, as compilers and editors write it. */
export function formatProblem(problem: Problem): string {
  const place = problem.line > 0 ? `${problem.source}:${problem.line}` : problem.source;
  const mark = problem.severity === "warning" ? "warning: " : "";
  return `${place}: ${mark}${problem.path === "" ? "" : `${problem.path}: `}${problem.text}`;
}

/** Where something stands in the configuration. */
export interface Place {
  readonly line: number;
  readonly path: string;
}

/** Gathers everything that is wrong, so that all of it is told at once; the passwords of URIs are not. */
export class Problems {
  readonly #source: string;
  readonly #found: Problem[] = [];

  constructor(source: string) {
    this.#source = source;
  }

  error(place: Place, text: string): void {
    this.#add({ severity: "error", source: this.#source, line: place.line, path: place.path, text });
  }

  warning(place: Place, text: string): void {
    this.#add({ severity: "warning", source: this.#source, line: place.line, path: place.path, text });
  }

  /** An error that comes from an environment variable and not from the file. */
  environmentError(variable: string, text: string): void {
    this.#add({ severity: "error", source: variable, line: 0, path: "", text });
  }

  environmentWarning(variable: string, text: string): void {
    this.#add({ severity: "warning", source: variable, line: 0, path: "", text });
  }

  #add(problem: Problem): void {
    this.#found.push({ ...problem, text: withoutPasswords(problem.text) });
  }

  /** In the order of the file. */
  get errors(): readonly Problem[] {
    return this.#sorted("error");
  }

  /** But for those about a value that is an error as well: mending that will change it. */
  get warnings(): readonly Problem[] {
    const wrong = new Set(this.errors.filter(({ path }) => path !== "").map(({ path }) => path));
    return this.#sorted("warning").filter(({ path }) => !wrong.has(path));
  }

  #sorted(severity: Problem["severity"]): readonly Problem[] {
    return this.#found.filter((problem) => problem.severity === severity).sort((a, b) => a.line - b.line);
  }
}
