import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";

/** One import or re-export statement, or one dynamic import, of a source file. */
export interface ImportEdge {
  /** Path of the importing file below the source folder, with forward slashes. */
  readonly from: string;
  /** Path of the imported file below the source folder; undefined for a package or a Node module. */
  readonly file: string | undefined;
  /** The specifier as written. */
  readonly specifier: string;
  /** True when the statement vanishes on compilation (`import type`). */
  readonly typeOnly: boolean;
}

const statement = /^\s*(?:import|export)\s+(type\s)?(?:[^"';]*?\sfrom\s+)?"([^"]+)"/gm;
const dynamic = /\bimport\(\s*"([^"]+)"\s*\)/g;

/** Paths of all TypeScript files below `folder`, with forward slashes, sorted. */
export function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".ts"))
    .sort();
}

/** The imports that a file's text states; `from` is the file's path below the source folder. */
export function importsOf(from: string, text: string): ImportEdge[] {
  const edge = (specifier: string, typeOnly: boolean): ImportEdge => ({
    from,
    specifier,
    typeOnly,
    file: specifier.startsWith(".") ? posix.join(posix.dirname(from), specifier) : undefined,
  });
  return [
    ...[...text.matchAll(statement)].map((match) => edge(match[2] ?? "", match[1] !== undefined)),
    ...[...text.matchAll(dynamic)].map((match) => edge(match[1] ?? "", false)),
  ];
}

/** Every import of every file below `folder`. */
export function importGraph(folder: string): ImportEdge[] {
  return sourceFiles(folder).flatMap((path) => importsOf(path, readFileSync(posix.join(folder, path), "utf8")));
}

/** The first cycle among imports that exist at run time, as the files on it, or undefined when there is none. */
export function findCycle(edges: readonly ImportEdge[]): string[] | undefined {
  const next = new Map<string, string[]>();
  for (const { from, file, typeOnly } of edges) {
    if (file !== undefined && !typeOnly) next.set(from, [...(next.get(from) ?? []), file]);
  }
  const finished = new Set<string>();
  const visit = (file: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (finished.has(file)) return undefined;
    for (const target of next.get(file) ?? []) {
      const cycle = visit(target, [...path, file]);
      if (cycle !== undefined) return cycle;
    }
    finished.add(file);
    return undefined;
  };
  for (const file of next.keys()) {
    const cycle = visit(file, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
