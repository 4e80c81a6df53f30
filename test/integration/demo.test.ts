import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";

const program = fileURLToPath(new URL("../../dist/cli/weir.js", import.meta.url));

describe("the demo", () => {
  let child: ChildProcess;
  let output: string;

  function start(...options: string[]): void {
    output = "";
    child = spawn(process.execPath, [program, "demo", ...options], { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout?.on("data", (text: Buffer) => {
      output += text.toString();
    });
    child.stderr?.on("data", (text: Buffer) => {
      output += text.toString();
    });
  }

  const ended = async (): Promise<unknown[]> => once(child, "close");

  afterEach(() => {
    child.kill("SIGKILL");
  });

  it("places calls that are answered, shows every agent, and ends by itself with all counts at zero", async () => {
    start("--seconds", "7");
    expect(await ended()).toEqual([0, null]);
    for (const agent of ["callers", "wide", "small", "moody", "slow"])
      expect(output).toMatch(new RegExp(`^${agent} `, "m"));
    expect(output).toMatch(/[1-9]\d* placed, [1-9]\d* answered/);
    expect(output.trimEnd().split("\n").at(-1)).toBe("All calls have ended, all session counts are zero.");
    expect(output).toMatch(/, 0 lost\n/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a pipe is no terminal
    expect(output).not.toMatch(/\x1b/);
  });

  it("hangs up on Ctrl-C and leaves nothing running", async () => {
    start();
    await eventually("the first page", () => output.includes("CALL TO"));
    child.kill("SIGINT");
    expect(await ended()).toEqual([0, null]);
    expect(output).toContain("all session counts are zero");
  });
});
