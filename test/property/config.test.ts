import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Remainder, setPlainItemsAside } from "../../src/config/plain-items.ts";
import { formatProblem, Problems } from "../../src/config/problems.ts";
import type { SourceNode } from "../../src/config/source-node.ts";
import { parseYaml } from "../../src/config/yaml-source.ts";
import { largeConfig, styles } from "../bench/large-config.ts";

/** A node with all that is below it, whichever way its items are kept. */
function whole(node: SourceNode): unknown {
  if (node.kind === "scalar") return node;
  const { kind, line } = node;
  if (kind === "list") return { kind, line, length: node.length, items: Array.from(node.items, whole) };
  const entries = [...node.entries].map(([key, entry]) => [key, entry.line, whole(entry.value)]);
  return { kind, line, entries };
}

function reading(text: string, remainder: Remainder) {
  const problems = new Problems("weir.yaml");
  const node = parseYaml(text, problems, remainder);
  return { node: node && whole(node), errors: problems.errors };
}

/**
 * What the YAML library alone makes of a text, and what it does when plain items are set aside first. A file that the one
 * refuses the other refuses too; with which words, and how many, depends on what stands around the fault.
 */
function expectTheSame(text: string): void {
  const all = reading(text, new Remainder(text));
  const rest = reading(text, setPlainItemsAside(text));
  expect(rest.node, text).toEqual(all.node);
  if (all.node) expect(rest.errors.map(formatProblem), text).toEqual(all.errors.map(formatProblem));
  else expect(rest.errors, text).not.toEqual([]);
}

type Lines = (column: number) => string;

const pad = (column: number): string => " ".repeat(column);
const safe = "abcdefgz0123456789_.+-/@%=;()*!?&$~^: ";
const text = (characters: string) => fc.string({ unit: fc.constantFrom(...characters), maxLength: 12 });

/** Scalars about whose types the versions of YAML and its libraries have ever differed, and other odd ones. */
const oddities = [
  ..."~ null Null NULL nUll true True TRUE false tRue yes no on off y n Yes NO".split(" "),
  ..."0 -0 +0 7 0044 017 0o17 0O17 0x1F 0X1f -0x1f 0b101 1_000 +49 -5 190:20:30 12:30:45 1:2".split(" "),
  ..."1. .5 -.5 1.10 1e3 1E+3 1e 0.1e-2 12e03 .inf -.INF +.Inf .nan .NaN . .. ... - -- --- -. -a +a".split(" "),
  ..."2001-12-14 2001-12-14t21:59:43.10-05:00 << = a:b a:: :a udp://127.0.0.1:5060 sip:a@b;c=d 9007199254740993".split(
    " ",
  ),
  ..."* a#b #a &a *a !a !!str %a @a `a ? | > |- >+ {} [] [a {a a] a} a, ,a 'a \"a a' a\" 'a''b' \"a\\nb\" ''".split(
    " ",
  ),
  ...[
    "a b",
    "a  b",
    "a #b",
    "a: b",
    "a :b",
    "a - b",
    "- a",
    "? a",
    '"a" b',
    "'a' #b",
    "é",
    '"é"',
    "a\u00a0b",
    "a\tb",
    "",
  ],
];

const scalar = fc.oneof(
  { weight: 90, arbitrary: fc.constantFrom("a", "44", '"4420"', "'*'", '"SAG:b"', "carrier-a", "0.5", "true") },
  { weight: 1, arbitrary: fc.constantFrom(...oddities) },
  { weight: 1, arbitrary: text(safe) },
  { weight: 1, arbitrary: text(`${safe}{}[],#'"|>\\\u00e9`) },
  { weight: 1, arbitrary: text(`${safe}{}[],#'\u00e9`).map((inside) => `"${inside}"`) },
  { weight: 1, arbitrary: text(`${safe}{}[],#"\\`).map((inside) => `'${inside}'`) },
);

const key = fc.oneof(
  { weight: 60, arbitrary: fc.constantFrom(..."abcdefgh", "to-address", "cost", "x1", '"q"', "'r'") },
  { weight: 1, arbitrary: fc.constantFrom("<<", '"<<"', "null", "~", "1", "0x1F", "true", "a b", "? a", "[a]", "") },
);

const gap = fc.oneof(
  { weight: 90, arbitrary: fc.constantFrom("", " ") },
  { weight: 1, arbitrary: fc.nat({ max: 9 }).map((column) => `\n${pad(column)}`) },
  { weight: 1, arbitrary: fc.constantFrom("  ", "\n\n        ", " # c\n        ") },
);

const { flow } = fc.letrec<{ flow: string }>((tie) => ({
  flow: fc.oneof(
    { maxDepth: 3, depthIdentifier: "flow" },
    { weight: 4, arbitrary: scalar },
    {
      weight: 2,
      arbitrary: fc.tuple(gap, gap, fc.array(tie("flow"), { maxLength: 3 })).map(([before, after, items]) => {
        return `[${before}${items.join(`,${after}`)}${before}]`;
      }),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(
          gap,
          gap,
          fc.array(fc.tuple(key, fc.constantFrom(": ", ": ", ": ", ": ", ": ", ":  ", ":"), tie("flow")), {
            maxLength: 3,
          }),
        )
        .map(([before, after, pairs]) => `{${before}${pairs.map((pair) => pair.join("")).join(`,${after}`)}${before}}`),
    },
  ),
}));

const lineEnd = fc.oneof(
  { weight: 60, arbitrary: fc.constantFrom("\n", "\n", "\n", " # c\n", "\n\n", "\n# c\n", "\r\n") },
  {
    weight: 1,
    arbitrary: fc.constantFrom(" # c\n", "  \n", "\n\n", "\n# c\n", "\n    # é: {\n", "\r\n", "#c\n", "\t\n"),
  },
);

/** Blocks as they follow a dash, or a key and the end of its line. */
const { item, below } = fc.letrec<{ item: Lines; below: Lines; map: Lines }>((tie) => ({
  item: fc.oneof(
    { maxDepth: 3, depthIdentifier: "block" },
    {
      weight: 3,
      arbitrary: fc.tuple(flow, lineEnd).map(
        ([inline, end]) =>
          () =>
            `${inline}${end}`,
      ),
    },
    { weight: 8, arbitrary: tie("map") },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Lines>(
        (column) => `|\n${pad(column)}- { a: b }\n`,
        () => "\n",
        () => "&a b\n",
        () => "*a\n",
      ),
    },
  ),
  map: fc
    .array(
      fc.tuple(
        key,
        fc.oneof(
          fc.tuple(flow, lineEnd).map(
            ([inline, end]) =>
              () =>
                ` ${inline}${end}`,
          ),
          tie("below"),
        ),
      ),
      {
        minLength: 1,
        maxLength: 3,
      },
    )
    .map((pairs) => (column: number) => pairs.map(([name, value]) => `${name}:${value(column)}`).join(pad(column))),
  below: fc
    .tuple(
      lineEnd,
      fc.constantFrom(0, 0, 0, 2, 2, 2, 2, 2, 1, 4),
      fc.oneof(tie("map"), fc.array(tie("item"), { minLength: 1, maxLength: 3 })),
    )
    .map(([end, deeper, block]) => (column: number) => {
      const isMap = typeof block === "function";
      const at = column + (isMap && deeper === 0 ? 3 : deeper);
      if (isMap) return `${end}${pad(at)}${block(at)}`;
      return `${end}${block.map((each) => `${pad(at)}- ${each(at + 2)}`).join("")}`;
    }),
}));

const list = fc
  .tuple(lineEnd, fc.constantFrom(0, 2, 2, 4), fc.array(item, { maxLength: 8 }))
  .map(([end, column, items]) => `${end}${items.map((each) => `${pad(column)}- ${each(column + 2)}`).join("")}`);

const section = fc.tuple(
  fc.constantFrom("local-policies", "session-agents", "realms", "sources", "x"),
  fc.oneof(
    { weight: 4, arbitrary: list },
    { weight: 1, arbitrary: below.map((block) => block(0)) },
    { weight: 1, arbitrary: flow.map((value) => ` ${value}\n`) },
  ),
);

const file = fc
  .tuple(
    fc.oneof(
      { weight: 8, arbitrary: fc.constant("") },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          "# c\n\n",
          "---\n",
          "--- |\n",
          "%YAML 1.1\n---\n",
          "{\n",
          '"\n',
          "a: |\n",
          "a: &a 1\n",
          "- a\n",
          "\ufeff",
        ),
      },
    ),
    fc.array(section, { maxLength: 3 }),
    fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom("", "# c", " ") },
      { weight: 1, arbitrary: fc.constantFrom("}\n", "...\n", "---\nx: 1\n") },
    ),
  )
  .map(
    ([before, sections, after]) => `${before}${sections.map(([name, value]) => `${name}:${value}`).join("")}${after}`,
  );

const edit = fc.record({
  at: fc.nat({ max: 400 }),
  removed: fc.nat({ max: 3 }),
  added: fc.string({ unit: fc.constantFrom(..."ab-:,#&*!|>'\"{}[]?\n \t\r~0.\\"), maxLength: 3 }),
});

describe("a configuration of which plain items are set aside", () => {
  it("is what the YAML library alone makes of it", () => {
    fc.assert(fc.property(file, expectTheSame), { numRuns: 1_500 });
  });

  it("is so too after edits that mostly break it", () => {
    const edited = fc.tuple(file, fc.array(edit, { minLength: 1, maxLength: 3 })).map(([before, edits]) =>
      edits.reduce((now, { at, removed, added }) => {
        const where = at % (now.length + 1);
        return `${now.slice(0, where)}${added}${now.slice(where + removed)}`;
      }, before),
    );
    fc.assert(fc.property(edited, expectTheSame), { numRuns: 1_500 });
  });

  it("ends no item before a line that only looks like its end", () => {
    const lines = [
      "\t",
      " \t",
      "#\r c",
      "\r",
      "\t# c",
      "#\u0085",
      "\u00a0",
      "\ufeff",
      "\u2028",
      "# \u2028",
      "\t- b",
      "é: 1",
    ];
    for (const line of lines) {
      for (const after of ["  b: c\n", "- b\n", "    b: c\n", "y:\n- b\n"]) {
        expectTheSame(`x:\n- a: b\n${line}\n${after}`);
        expectTheSame(`x:\n  - a:\n      - b\n${line}\n    ${after}`);
      }
    }
  });

  it.each(Object.entries(styles))("keeps next to nothing of long lists for the library: %s", (_, style) => {
    const text = largeConfig({ policies: 1_000, agents: 100 }, style);
    expect(setPlainItemsAside(text).text.length).toBeLessThan(300);
    expectTheSame(text);
    expectTheSame(text.replaceAll("\n", "\r\n"));
  });

  it("takes no more stack than there is for what is long", () => {
    for (const part of ["a ", "a:", "[", " ", "\n", "# c\n", "- "]) {
      for (const before of ["x:\n- ", "x:\n"]) {
        expect(() => setPlainItemsAside(before + part.repeat(10_000_000))).not.toThrow();
      }
    }
  });

  it("is the example of ours as well", () => {
    expectTheSame(readFileSync(new URL("../../config/weir.yaml", import.meta.url), "utf8"));
  });

  it("takes every scalar for the same", () => {
    for (const odd of oddities) {
      for (const around of [
        `- ${odd}`,
        `- [${odd}]`,
        `- { a: ${odd} }`,
        `- a: ${odd}`,
        `- a:\n    - ${odd}`,
        `- a:\n      ${odd}`,
      ]) {
        expectTheSame(`x:\n${around}\n- { a: b }\n`);
      }
    }
  });
});
