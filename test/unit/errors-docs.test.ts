import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { errorCodes } from "../../src/errors.ts";

const page = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");

describe("docs/errors.md", () => {
  it("lists every code with its text, in the order of the table, and no other", () => {
    const rows = [...page.matchAll(/^\| `(WEIR_\w+)` \| ([^|]+) \| ([^|]+) \|$/gm)];
    expect(rows.map(([, code, text]) => [code, text])).toEqual(Object.entries(errorCodes));
  });
});
