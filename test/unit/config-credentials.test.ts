import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { formatProblem } from "../../src/config/problems.ts";

const folder = mkdtempSync(join(tmpdir(), "weir-credentials-"));
const file = join(folder, "weir.yaml");
writeFileSync(join(folder, "secret"), "from the file\nand no more\n", { mode: 0o600 });
writeFileSync(join(folder, "open"), "x\n", { mode: 0o644 });
writeFileSync(join(folder, "empty"), "\n", { mode: 0o600 });

function load(agent: string) {
  const text = `session-agents:\n  - hostname: trunk\n    ip-address: 127.0.0.11\n${agent
    .split("\n")
    .map((line) => `    ${line}\n`)
    .join("")}local-policies: []\n`;
  return loadConfig(text, file, { TRUNK_SECRET: "from the environment" });
}

const errorsOf = (agent: string): string[] => {
  const loaded = load(agent);
  return "errors" in loaded ? loaded.errors.map(formatProblem) : [];
};

describe("credentials", () => {
  it("come from the environment, or from the first line of a file beside the configuration", () => {
    for (const [source, password] of [
      ["auth-password-env: TRUNK_SECRET", "from the environment"],
      ["auth-password-file: secret", "from the file"],
    ]) {
      const loaded = load(`auth-user: u\nauth-realm: r\n${source}`);
      if ("errors" in loaded) throw new Error(loaded.errors.map(formatProblem).join());
      const credentials = loaded.config.credentials.get("trunk");
      expect(credentials).toMatchObject({ user: "u", realm: "r" });
      expect(credentials?.password.reveal()).toBe(password);
      expect(JSON.stringify([...loaded.config.credentials, loaded.config])).not.toContain(password);
    }
  });

  it.each([
    ["auth-user: u", /:4: session-agents\[0\]\.auth-user: found without a password/],
    ["auth-realm: r", /auth-realm: found without auth-user/],
    ["auth-password-env: TRUNK_SECRET", /auth-password-env: found without auth-user/],
    ["auth-user: u\nauth-password-env: TRUNK_SECRET\nauth-password-file: secret", /expected one of the two/],
    ["auth-user: u\nauth-password-env: NOWHERE", /:5: .*found the name of a variable that is not set/],
    [
      "auth-user: u\nauth-password-file: missing",
      /:5: .*found the name of a file that cannot be read: there is no such file$/,
    ],
    ["auth-user: u\nauth-password-file: empty", /empty, expected the password in its first line/],
    ["auth-user: 'a\"b'\nauth-password-env: TRUNK_SECRET", /expected a user name/],
  ])("are refused with the place of what is wrong: %s", (agent, message) => {
    const errors = errorsOf(agent);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(message);
  });

  it.each(["auth-password", "password", "secret", "auth_password", "passwd", "auth-pass", "authPasword", "pwd"])(
    "are never taken from the file itself: %s",
    (key) => {
      const errors = errorsOf(`auth-user: u\nauth-password-env: TRUNK_SECRET\n${key}: hunter2`);
      expect(errors).toHaveLength(1);
      expect(errors[0]).toMatch(/:6: .*found a secret, expected auth-password-env or auth-password-file/);
      expect(errors[0]).not.toContain("hunter2");
    },
  );

  it.each([
    "auth-user: u\nauth-password-env: HUNTER2!x",
    "auth-user: u\nauth-password-env: HUNTER2",
    "auth-user: u\nauth-password-env: *HUNTER2",
    "auth-user: u\nauth-password-env: !HUNTER2 x",
    "auth-user: u\nauth-password-env: |HUNTER2",
    "auth-user: u\nauth-password-env: ]HUNTER2",
    'auth-user: u\nauth-password-env: "\\xHUNTER2"',
    "auth-user: u\nauth-password-file: HUNTER2",
    `auth-user: u\nauth-password-file: ${"HUNTER2".repeat(50)}`,
    'auth-user: u\nauth-password-file: "\\0HUNTER2"',
    "auth-user: u\nauth-password-file: secret/HUNTER2",
    'surrogate-registration: { aor: "sip:u:HUNTER2@trunk" }',
    'surrogate-registration: { aor: "u:HUNTER2" }',
    'surrogate-registration: { aor: u, contact-user: "u:HUNTER2" }',
    "surrogate-registration: { aor: u, password: HUNTER2 }",
    'surrogate-registration: "sip:u:HUNTER2@trunk"',
  ])("are not repeated from where they do not belong: %s", (agent) => {
    const errors = errorsOf(agent).join("\n");
    expect(errors).not.toBe("");
    expect(errors).not.toMatch(/HUNT?/);
  });

  it("have no place in a realm or at the top either, where the complaint says which is theirs", () => {
    const loaded = loadConfig("realms:\n  - { identifier: x, auth-password: HUNTER2 }\npassword: HUNTER2\n", file, {});
    const errors = "errors" in loaded ? loaded.errors.map(formatProblem) : [];
    expect(errors.join("\n")).not.toContain("HUNTER2");
    expect(errors).toContainEqual(expect.stringMatching(/:2: realms\[0\]\.auth-password: found a secret, expected/));
    expect(errors).toContainEqual(expect.stringMatching(/:3: password: found a secret, expected auth-password-env/));
  });

  it("leave the nearest key to be told where only its spelling is wrong", () => {
    expect(errorsOf("auth_password_env: TRUNK_SECRET").join()).toMatch(/did you mean "auth-password-env"\?/);
  });

  it("are warned about where everybody can read them", () => {
    const { warnings } = load("auth-user: u\nauth-password-file: open");
    expect(warnings.map(formatProblem).join()).toMatch(/open can be read by every user/);
  });
});

describe("surrogate-registration", () => {
  it.each(["5551000", "5551000@carrier.example", "sip:+4930@carrier.example:5070", "u@[2001:db8::1]"])(
    "takes %s for an address of record",
    (aor) => {
      const loaded = load(`surrogate-registration: { aor: "${aor}" }`);
      if ("errors" in loaded) throw new Error(loaded.errors.map(formatProblem).join());
      expect(loaded.config["session-agents"][0]?.["surrogate-registration"]).toEqual({
        aor,
        "contact-user": "",
        expires: 3_600,
        "retry-interval": 10,
      });
    },
  );

  it.each([
    ["{}", /surrogate-registration\.aor: found nothing, expected an address of record/],
    ["{ aor: '@b' }", /expected an address of record/],
    ["{ aor: a, contact-user: 'x y' }", /contact-user: found "x y", expected the user part/],
    ["{ aor: a, expires: 5 }", /expires: found 5, expected a whole number 30 to 86400/],
    ["{ aor: a, expire: 50 }", /expire: unknown key/],
    ["yes", /surrogate-registration: found .*, expected a map/],
  ])("%s is refused with its place", (value, message) => {
    expect(errorsOf(`surrogate-registration: ${value}`).join()).toMatch(message);
  });
});

describe("a password in a URI", () => {
  const errorsIn = (sections: string): string[] => {
    const loaded = loadConfig(sections, file, {});
    return "errors" in loaded ? loaded.errors.map(formatProblem) : [];
  };
  const hop = (name: string) => errorsIn(`local-policies: [{ policy-attributes: [{ next-hop: ${name} }] }]\n`);

  it("is refused in a next hop, and not repeated", () => {
    expect(hop('"sip:u:HUNTER2@host.example"')).toEqual([
      expect.stringMatching(
        /:1: local-policies\[0\]\.policy-attributes\[0\]\.next-hop: found "sip:u:\[secret\]@host\.example", expected a name, or a URI without a password$/,
      ),
    ]);
    expect(hop('"sip:u@host.example:5060"')).toEqual([]);
    expect(hop('"sip:host.example:5060"')).toEqual([]);
  });

  it.each([
    `local-policies: [{ policy-attributes: [{ next-hop: "sips:u:${"HUNTER2".repeat(20)}@h.example" }] }]`,
    `local-policies: [{ policy-attributes: [{ next-hop: 'sip:u:a"b HUNTER2@x@h.example' }] }]`,
    'session-agents: [{ hostname: "u:HUNTER2@h", ip-address: 127.0.0.1 }]',
    'session-agents: [{ hostname: a, ip-address: "sip:u:HUNTER2@h" }]',
    'session-agents: [{ hostname: a, port: "sip:u:HUNTER2@h" }]',
    `session-agent-groups: [{ group-name: g, dest: ['sip:u:a"HUNTER2@h'] }]`,
  ])("is repeated nowhere: %s", (sections) => {
    const errors = errorsIn(`${sections}\n`).join("\n");
    expect(errors).toContain("[secret]@");
    expect(errors).not.toContain("HUNTER2");
  });
});
