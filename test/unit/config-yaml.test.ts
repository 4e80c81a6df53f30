import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig, loadConfigFile } from "../../src/config/load.ts";
import { formatProblem } from "../../src/config/problems.ts";
import { didYouMean } from "../../src/config/suggest.ts";

function read(text: string) {
  const loaded = loadConfig(text, "weir.yaml", {});
  return {
    config: "config" in loaded ? loaded.config : undefined,
    errors: "errors" in loaded ? loaded.errors.map(formatProblem) : [],
  };
}

const policies = "local-policies: [{ policy-attributes: [{ next-hop: a }] }]\n";

describe("YAML that is not well formed", () => {
  it.each([
    ["a tab as indentation", "signalling:\n\tengine: embedded\n", 2],
    ["an open bracket", "signalling: { engine: embedded\n", 2],
    ["a bad indentation", "signalling:\n  engine: embedded\n thread: same\n", 3],
    ["an unknown tag", "signalling: !wrong {}\n", 1],
  ])("is refused with its line: %s", (_, text, line) => {
    const { errors } = read(text);
    expect(errors.length).toBeGreaterThan(0);
    expect(errors[0]).toMatch(new RegExp(`^weir\\.yaml:${line}: not valid YAML: `));
  });

  it("is refused when it is two documents", () => {
    expect(read("signalling: {}\n---\nsignalling: {}\n").errors).toEqual([
      "weir.yaml:2: found a second document, expected one",
    ]);
  });

  it("is refused when it is nested without end", () => {
    for (const level of ["[", "{ a: ", "- ", "? "]) {
      expect(read(level.repeat(20_000)).errors).toEqual([
        "weir.yaml:1: found more than 100 levels, expected a handful",
      ]);
    }
  });
});

describe("a long list", () => {
  const policy = (at: number): string => `  - { to-address: ["${at}"], policy-attributes: [{ next-hop: a }] }\n`;
  const file = (change: (item: string) => string): string => {
    const items = Array.from({ length: 2_000 }, (_, at) => (at === 1_234 ? change(policy(at)) : policy(at)));
    return `session-agents: [{ hostname: a }]\nlocal-policies:\n# sorted\n\n${items.join("")}`;
  };

  it("is told from by its one broken item, and not by all that follow it", () => {
    const { errors } = read(file((item) => item.replace("]", "")));
    expect(errors[0]).toMatch(/^weir\.yaml:1239: not valid YAML: Flow sequence in block collection/);
    expect(errors.length).toBeLessThan(4);
    expect(read(file((item) => `${item}  }\n`)).errors).toEqual([
      'weir.yaml:1240: not valid YAML: Unexpected flow-map-end token in YAML stream: "}"',
    ]);
  });

  it("knows the line of each of its values", () => {
    const change = (item: string): string =>
      `  # next\n${item.replace("to-address", "to-adress").replace(": a", ":\n      nowhere")}`;
    expect(read(file(change)).errors).toEqual([
      'weir.yaml:1240: local-policies[1234].to-adress: unknown key; did you mean "to-address"?',
      'weir.yaml:1241: local-policies[1234].policy-attributes[0].next-hop: found "nowhere", expected a session agent\'s hostname, SAG:group or a SIP address',
    ]);
  });
});

describe("YAML that is no configuration", () => {
  it.each(["", "\n\n", "# only a comment\n", "---\n", "~"])("is refused as nothing: %j", (text) => {
    expect(read(text).errors).toEqual([
      "weir.yaml:1: found nothing, expected sections such as session-agents and local-policies",
    ]);
  });

  it.each([
    ["[]", "a list of 0"],
    ["hello", '"hello"'],
    ["5", "5"],
  ])("is refused as %s", (text, found) => {
    expect(read(text).errors).toEqual([`weir.yaml:1: found ${found}, expected a map`]);
  });

  it("is refused where a list, a map or a value of another kind stands", () => {
    expect(read("session-agents: {}\nlocal-policies: 5\nsignalling: []\nadmin: ~\n").errors).toEqual([
      "weir.yaml:1: session-agents: found a map, expected a list",
      "weir.yaml:2: local-policies: found 5, expected a list",
      "weir.yaml:3: signalling: found a list of 0, expected a map",
      "weir.yaml:4: admin: found nothing, expected a map",
    ]);
    expect(read(`session-agents: [a, ~]\n${policies}`).errors.slice(0, 2)).toEqual([
      'weir.yaml:1: session-agents[0]: found "a", expected a map',
      "weir.yaml:1: session-agents[1]: found nothing, expected a map",
    ]);
    expect(read("? [a, b]\n: 1\n").errors).toEqual(["weir.yaml:1: found a list or a map as a key, expected a name"]);
  });
});

describe("a key that stands twice in one map", () => {
  it("is refused where it stands the second time", () => {
    expect(read(`session-agents:\n  - hostname: a\n    port: 5071\n    port: 5072\n${policies}`).errors).toEqual([
      "weir.yaml:4: session-agents[0].port: found the key a second time, expected it once (first on line 3)",
    ]);
  });
});

describe("anchors and merge keys", () => {
  const agents = `session-agents:
  - &first { hostname: a, ip-address: 127.0.0.1, port: 5071, max-sessions: 7 }
  - { <<: *first, hostname: b, port: 5072 }
  - { <<: [*first, { hostname: never, max-burst-rate: 3 }], hostname: c, port: 5073 }
`;

  it("save repeating parameters; what is written out wins, then the first merged", () => {
    const { config, errors } = read(agents + policies);
    expect(errors).toEqual([]);
    expect(config?.["session-agents"].map((each) => [each.hostname, each.port, each["max-sessions"]])).toEqual([
      ["a", 5071, 7],
      ["b", 5072, 7],
      ["c", 5073, 7],
    ]);
    expect(config?.["session-agents"][2]?.["max-burst-rate"]).toBe(3);
  });

  it("point to where a merged value is written when it is wrong", () => {
    const { errors } = read(agents.replace("max-sessions: 7", "max-sessions: many") + policies);
    expect(errors).toContain(
      'weir.yaml:2: session-agents[1].max-sessions: found "many", expected a whole number 0 to 1000000',
    );
  });

  it("are refused where they lead nowhere, into themselves, or to no map", () => {
    expect(read("session-agents: *nowhere\n").errors[0]).toMatch(/found \*nowhere, expected/);
    expect(read("session-agents: &loop [*loop]\n").errors[0]).toMatch(/found \*loop, expected/);
    expect(read("signalling: { <<: 5 }\n").errors).toEqual([
      "weir.yaml:1: signalling: found 5 under <<, expected a map",
    ]);
  });

  it("cost nothing when they multiply", () => {
    const levels = Array.from({ length: 30 }, (_, at) => `- &a${at + 1} [${Array(10).fill(`*a${at}`).join(", ")}]`);
    const started = performance.now();
    const { errors } = read(`- &a0 [x]\n${levels.join("\n")}\n`);
    expect(errors).toEqual(["weir.yaml:1: found a list of 31, expected a map"]);
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

describe("a configuration file", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "weir-config-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function errorsOf(content: string | Uint8Array): Promise<string[]> {
    const file = join(folder, "weir.yaml");
    await writeFile(file, content);
    const loaded = await loadConfigFile(file, {});
    return "errors" in loaded ? loaded.errors.map((problem) => formatProblem({ ...problem, source: "weir.yaml" })) : [];
  }

  it("is read whatever its line ends, with or without a byte order mark", async () => {
    const text = `session-agents: [{ hostname: a }]\r\n${policies}`;
    expect(await errorsOf(text)).toEqual([]);
    expect(await errorsOf(`\ufeff${text}`)).toEqual([]);
  });

  it("is named in its errors as it was named by the user", async () => {
    const file = join(folder, "other.yaml");
    await writeFile(file, "x: 1\n");
    const loaded = await loadConfigFile(file, {});
    expect("errors" in loaded && loaded.errors.map(({ source }) => source)).toEqual([file]);
  });

  it("is refused when it is binary", async () => {
    expect(await errorsOf(new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0xff, 0xfe]))).toEqual([
      "weir.yaml: found bytes that are no UTF-8 text, expected YAML text in UTF-8",
    ]);
    expect(await errorsOf("signalling:\n  engine: \0\n")).toEqual([
      "weir.yaml:2: found binary data, expected YAML text",
    ]);
  });

  it("is refused unread when it is huge", async () => {
    expect(await errorsOf(Buffer.alloc(100 * 1024 * 1024, "#"))).toEqual([
      "weir.yaml: found more than 33554432 bytes, expected a configuration of less",
    ]);
  });

  it("may hold ten thousand agents", async () => {
    const agents = Array.from(
      { length: 10_000 },
      (_, at) => `  - { hostname: a${at}, ip-address: 127.0.0.1, port: ${at + 1024} }`,
    );
    expect(
      await errorsOf(
        `session-agents:\n${agents.join("\n")}\nlocal-policies: [{ policy-attributes: [{ next-hop: a1 }] }]\n`,
      ),
    ).toEqual([]);
  });

  it("must exist and be a file", async () => {
    await expect(loadConfigFile(join(folder, "none.yaml"), {})).rejects.toMatchObject({
      code: "WEIR_CONFIG_UNREADABLE",
    });
    await expect(loadConfigFile(folder, {})).rejects.toMatchObject({ code: "WEIR_CONFIG_UNREADABLE" });
  });
});

describe("the name that was meant", () => {
  const known = ["max-outbound-sessions", "max-inbound-sessions", "port", "hostname"];

  it.each([
    ["max-outbond-sessions", "max-outbound-sessions"],
    ["max_outbound_sessions", "max-outbound-sessions"],
    ["PORT", "port"],
    ["prot", "port"],
    ["hostnam", "hostname"],
  ])("of %s is %s", (typed, meant) => {
    expect(didYouMean(typed, known)).toBe(`; did you mean "${meant}"?`);
  });

  it.each(["address", "", "x".repeat(10_000)])("is not guessed for %.20s", (typed) => {
    expect(didYouMean(typed, known)).toBe("");
  });
});
