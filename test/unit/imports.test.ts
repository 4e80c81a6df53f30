import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { findCycle, type ImportEdge, importGraph, importsOf, sourceFiles } from "../support/import-graph.ts";

const source = fileURLToPath(new URL("../../src", import.meta.url));
const edges = importGraph(source);
const everything = "*";

/**
 * What each part may import, beside itself and the shared vocabulary (files directly in src/). `types` are imports that
 * vanish on compilation: a part may speak of another one's values without depending on its code.
 */
const allowed: Readonly<Record<string, { readonly code: readonly string[]; readonly types: readonly string[] }>> = {
  vocabulary: { code: [], types: [] },
  agents: { code: [], types: [] },
  routing: { code: ["agents"], types: ["agents"] },
  names: { code: [], types: ["agents"] },
  engine: { code: ["names"], types: ["names"] },
  config: { code: ["agents", "routing"], types: ["agents", "routing"] },
  signalling: { code: ["engine"], types: ["engine", "config", "agents"] },
  calls: { code: ["agents", "routing", "signalling"], types: ["agents", "routing", "signalling", "config"] },
  registrations: {
    code: ["routing", "signalling", "calls"],
    types: ["agents", "routing", "signalling", "calls", "config"],
  },
  operations: { code: [], types: ["agents", "routing", "calls", "registrations", "engine", "signalling", "config"] },
  main: {
    code: ["agents", "names", "routing", "config", "signalling", "calls", "registrations", "operations"],
    types: [everything],
  },
  demo: { code: ["main", "config", "signalling"], types: [everything] },
  cli: { code: [everything], types: [everything] },
};

/** The layers of the engine, lowest first; its core and the links to the application stand above them. */
const engineLayers = ["message", "transport", "transaction", "dialog"];

function partOf(file: string): string {
  if (file === "main.ts") return "main";
  const slash = file.indexOf("/");
  return slash === -1 ? "vocabulary" : file.slice(0, slash);
}

const show = ({ from, specifier }: ImportEdge): string => `${from} imports ${specifier}`;
const offending = (rule: (edge: ImportEdge) => boolean): string[] => edges.filter(rule).map(show);

/** Lines of the given parts' files, comments stripped, that match, as `file:line`. */
function linesMatching(pattern: RegExp, inFile: (file: string) => boolean): string[] {
  return sourceFiles(source)
    .filter(inFile)
    .flatMap((file) =>
      readFileSync(join(source, file), "utf8")
        .split("\n")
        .map((line) => line.replace(/^\s*(\/?\*|\/\/).*$/, "").replace(/\s\/\/.*$/, ""))
        .flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
    );
}

describe("the import graph", () => {
  it("holds the parts that the table of this test knows, and no other", () => {
    expect([...new Set(edges.map((edge) => partOf(edge.from)))].filter((part) => !(part in allowed))).toEqual([]);
  });

  it("goes down, or sideways to types, never up", () => {
    const wrong = offending(({ from, file, typeOnly }) => {
      if (file === undefined) return false;
      const part = partOf(from);
      const target = partOf(file);
      const rule = allowed[part];
      const list = (typeOnly ? rule?.types : rule?.code) ?? [];
      return target !== part && target !== "vocabulary" && !list.includes(target) && !list.includes(everything);
    });
    expect(wrong).toEqual([]);
  });

  it("goes down inside the engine: message, transport, transaction, dialog, core and links", () => {
    const layer = (file: string): number => {
      const index = engineLayers.indexOf(file.split("/")[1] ?? "");
      return index === -1 ? engineLayers.length : index;
    };
    const wrong = offending(
      ({ from, file, typeOnly }) =>
        file !== undefined &&
        !typeOnly &&
        partOf(from) === "engine" &&
        partOf(file) === "engine" &&
        layer(file) > layer(from),
    );
    expect(wrong).toEqual([]);
  });

  it("has no cycle among the imports that exist at run time", () => {
    expect(findCycle(edges)).toBeUndefined();
  });
});

describe("agents/ and routing/", () => {
  const pure = (file: string): boolean => ["agents", "routing"].includes(partOf(file));

  it("import no package but a regular expression engine, and of Node nothing but the event emitter", () => {
    const wrong = offending(
      ({ from, file, specifier }) =>
        pure(from) &&
        file === undefined &&
        specifier !== "node:events" &&
        !(from === "routing/pattern.ts" && specifier === "re2js"),
    );
    expect(wrong).toEqual([]);
  });

  it("take time and chance from their caller", () => {
    const ambient =
      /\bDate\.now|\bnew Date\(\)|\bsetTimeout\b|\bsetInterval\b|\bsetImmediate\b|\bperformance\.|\bMath\.random|\bprocess\./;
    expect(linesMatching(ambient, pure)).toEqual([]);
  });
});

describe("the outside world", () => {
  it("is reached through drachtio-srf in signalling/ alone", () => {
    const wrong = offending(({ from, specifier }) => /^drachtio-/.test(specifier) && partOf(from) !== "signalling");
    expect(wrong).toEqual([]);
  });

  it("sets the environment in config/ alone", () => {
    // drachtio-srf reads process.env for every header: main.ts turns it into a plain object, once, which is no setting.
    const wrong = linesMatching(/\bprocess\.env\b/, (file) => partOf(file) !== "config");
    expect(wrong.filter((line) => !/^main\.ts:\d+: process\.env = \{ \.\.\.process\.env \};$/.test(line))).toEqual([]);
  });
});

describe("the reader of imports", () => {
  const read = (text: string): (string | boolean | undefined)[][] =>
    importsOf("calls/call.ts", text).map((edge) => [edge.file ?? edge.specifier, edge.typeOnly]);

  it("sees values, types, re-exports, side effects, several lines and dynamic imports", () => {
    expect(read('import { a } from "./a.ts";')).toEqual([["calls/a.ts", false]]);
    expect(read('import type { A } from "../agents/a.ts";')).toEqual([["agents/a.ts", true]]);
    expect(read('export * from "../b.ts";')).toEqual([["b.ts", false]]);
    expect(read('import "node:net";')).toEqual([["node:net", false]]);
    expect(read('import {\n  a,\n  b,\n} from "pkg";\nimport c from "./c.ts";')).toEqual([
      ["pkg", false],
      ["calls/c.ts", false],
    ]);
    expect(read('const d = await import("../d.ts");')).toEqual([["d.ts", false]]);
  });

  it("finds a cycle, and leaves out one that only types close", () => {
    const graph = (closing: string): ImportEdge[] => [
      ...importsOf("a.ts", 'import { b } from "./b.ts";'),
      ...importsOf("b.ts", `import ${closing}{ a } from "./a.ts";`),
    ];
    expect(findCycle(graph(""))).toEqual(["a.ts", "b.ts", "a.ts"]);
    expect(findCycle(graph("type "))).toBeUndefined();
  });
});
