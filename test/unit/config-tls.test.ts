import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { formatProblem } from "../../src/config/problems.ts";
import { CertificateAuthority } from "../support/certificate-authority.ts";

const authority = new CertificateAuthority();
const now = Date.now();
const day = 86_400_000;
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "weir-config-tls-"));
  const issue = (name: string, validity = {}) => {
    const { certificate, key } = authority.issue({ names: ["weir.example"], ...validity });
    writeFileSync(join(directory, `${name}.pem`), certificate);
    writeFileSync(join(directory, `${name}.key`), key);
  };
  issue("good", { to: new Date(now + 90 * day) });
  issue("ending", { to: new Date(now + 5 * day) });
  issue("ended", { to: new Date(now - day) });
  issue("early", { from: new Date(now + day), to: new Date(now + 90 * day) });
  issue("weak", { curve: "secp112r1" });
  writeFileSync(join(directory, "ca.pem"), authority.certificate);
  writeFileSync(join(directory, "text.pem"), "no certificate");
});
afterAll(() => rmSync(directory, { recursive: true }));

/** The configuration with these lines of `signalling.tls` from line 3 on, and one agent on TLS. */
function load(lines: readonly string[], { listen = '"tls://127.0.0.1:5061"', more = "" } = {}) {
  const text = `signalling:
  tls:
${lines.map((line) => `    ${line}\n`).join("")}  listen: [${listen}]
session-agents:
  - { hostname: carrier.example, ip-address: 127.0.0.2, transport-method: TLS${more} }
local-policies: [{ to-address: "*", policy-attributes: [{ next-hop: carrier.example }] }]
`;
  return loadConfig(text, join(directory, "weir.yaml"), {});
}

/** What is wrong or odd, without the names of the directory. */
function problems(lines: readonly string[], options = {}): string[] {
  const loaded = load(lines, options);
  const found = [...("errors" in loaded ? loaded.errors : []), ...loaded.warnings];
  return found.map((problem) => formatProblem(problem).replaceAll(`${directory}/`, ""));
}

const good = ["certificate: good.pem", "key: good.key", "ca: ca.pem"];

describe("signalling.tls", () => {
  it("names files relative to the configuration's, and knows every agent on TLS", () => {
    const loaded = load([...good, "client-certificate: require", "min-version: TLSv1.3"]);
    expect("config" in loaded && loaded.config.signalling.tls).toEqual({
      certificate: join(directory, "good.pem"),
      key: join(directory, "good.key"),
      ca: join(directory, "ca.pem"),
      clientCertificate: "require",
      minVersion: "TLSv1.3",
      verify: true,
      peers: [{ name: "carrier.example", address: "127.0.0.2", port: 5_061, verify: true }],
    });
    expect(loaded.warnings).toEqual([]);
  });

  it("lets an agent have its own way with certificates", () => {
    const verifies = (lines: string[], more: string) => {
      const loaded = load([...good, ...lines], { more });
      return "config" in loaded && loaded.config.signalling.tls?.peers[0]?.verify;
    };
    expect(verifies([], "")).toBe(true);
    expect(verifies([], ", tls-verify: disabled")).toBe(false);
    expect(verifies(["verify: disabled"], "")).toBe(false);
    expect(verifies(["verify: disabled"], ", tls-verify: enabled")).toBe(true);
  });

  for (const [what, lines, problem] of [
    [
      "no certificate",
      ["key: good.key"],
      "weir.yaml:2: signalling.tls.certificate: found nothing, expected a PEM file, as a tls:// address is listened on",
    ],
    [
      "no key",
      ["certificate: good.pem"],
      "weir.yaml:2: signalling.tls.key: found nothing, expected a PEM file, as a tls:// address is listened on",
    ],
    [
      "a key that is not there",
      ["certificate: good.pem", "key: gone.key"],
      "weir.yaml:4: signalling.tls.key: found the name of a file that cannot be read: there is no such file",
    ],
    [
      "the key of another certificate",
      ["certificate: good.pem", "key: ended.key"],
      "weir.yaml:4: signalling.tls.key: found ended.key, which is not the key of good.pem",
    ],
    [
      "a key that is too weak for OpenSSL",
      ["certificate: weak.pem", "key: weak.key"],
      "weir.yaml:3: signalling.tls.certificate: found weak.pem, which cannot be used: ee key too small",
    ],
    [
      "a file without a certificate",
      ["certificate: text.pem", "key: good.key"],
      "weir.yaml:3: signalling.tls.certificate: found text.pem, in which there is no PEM certificate",
    ],
    [
      "a file of authorities without one",
      [...good.slice(0, 2), "ca: text.pem"],
      "weir.yaml:5: signalling.tls.ca: found text.pem, in which there is no PEM certificate",
    ],
  ] as const) {
    it(`with ${what} is an error`, () => {
      expect(problems(lines)).toEqual([problem]);
    });
  }

  it("with a file that is no key is an error", () => {
    expect(problems(["certificate: good.pem", "key: text.pem"])).toEqual([
      expect.stringContaining("found text.pem, in which there is no PEM private key without a passphrase"),
    ]);
  });

  it("with a certificate that has ended, or not begun, is an error", () => {
    expect(problems(["certificate: ended.pem", "key: ended.key"])).toEqual([
      expect.stringMatching(
        /^weir\.yaml:3: .*found ended\.pem, in which the certificate of CN=weir\.example expired on /,
      ),
    ]);
    expect(problems(["certificate: early.pem", "key: early.key"])).toEqual([
      expect.stringMatching(/found early\.pem, in which the certificate of CN=weir\.example is not valid before /),
    ]);
  });

  it("warns of a certificate that soon ends", () => {
    expect(problems(["certificate: ending.pem", "key: ending.key"])).toEqual([
      expect.stringMatching(/^weir\.yaml:3: warning: signalling\.tls\.certificate: the certificate expires on /),
    ]);
  });

  it("warns of what makes TLS weaker than it looks", () => {
    expect(problems([...good.slice(0, 2), "client-certificate: require", "verify: disabled"])).toEqual([
      "weir.yaml:5: warning: signalling.tls.client-certificate: without a ca any certificate of a public authority will do",
      "weir.yaml:6: warning: signalling.tls.verify: whoever is on the way to an agent may take its place unnoticed",
    ]);
  });

  it("is not looked at where TLS is not listened on, which the agents on TLS are warned of", () => {
    expect(problems(["certificate: gone.pem"], { listen: '"tcp://127.0.0.1:5060"' })).toEqual([
      "weir.yaml:3: warning: signalling.tls.certificate: not used, as no tls:// address is listened on",
      expect.stringContaining("the agent cannot be reached, as Weir listens on no TLS IPv4 address"),
    ]);
  });

  it("repeats no PEM text that stands where its file should be named, whether TLS is listened on or not", () => {
    const pem = '"-----BEGIN PRIVATE KEY-----\\nHUNTER2\\n-----END PRIVATE KEY-----"';
    for (const key of ["certificate", "key", "ca"]) {
      const text = `signalling.tls.${key}: found the text of a PEM file, expected its name`;
      expect(problems([`${key}: ${pem}`])[0]).toContain(text);
      expect(problems([`${key}: ${pem}`], { listen: '"tcp://127.0.0.1:5060"' }).join()).toContain(text);
      expect(problems([`${key}: ${pem}`]).join()).not.toContain("HUNTER2");
    }
    for (const key of ["HUNTER2".repeat(50), '"\\0HUNTER2"', "HUNTER2/HUNTER2"]) {
      expect(problems(["certificate: good.pem", `key: ${key}`]).join()).toMatch(/tls\.key: found the name of a file/);
      expect(problems(["certificate: good.pem", `key: ${key}`]).join()).not.toContain("HUNTER2");
    }
  });

  it("takes the port that TCP would take", () => {
    expect(problems(good, { listen: '"tls://127.0.0.1:5061", "tcp://127.0.0.1:5061"' })).toEqual([
      "weir.yaml:6: signalling.listen: found tcp://127.0.0.1:5061 a second time",
    ]);
  });
});
