import { dirname, resolve } from "node:path";
import type { AgentParams } from "../agents/params.ts";
import { expiryOf, readTlsFiles, type TlsFiles } from "../tls-files.ts";
import type { ListenAddress, TlsConfig } from "./config.ts";
import { isPem } from "./misplaced-secrets.ts";
import type { Place, Problems } from "./problems.ts";
import { placeIn } from "./read-map.ts";
import type { MapNode } from "./source-node.ts";

/** `signalling.tls` as it is written. */
export interface TlsSection extends TlsFiles {
  readonly "client-certificate": TlsConfig["clientCertificate"];
  readonly verify: "enabled" | "disabled";
  readonly "min-version": TlsConfig["minVersion"];
}

/** What of the configuration TLS depends on. */
export interface TlsContext {
  readonly file: string;
  readonly root: MapNode;
  readonly listen: readonly ListenAddress[];
  readonly agents: readonly AgentParams[];
}

/** Before its certificate ends an operator is warned for so long, in milliseconds. */
const noticeMs = 30 * 86_400_000;

/**
 * How TLS is spoken, with every file checked: that it can be read, that key and certificate belong together, that nothing has
 * expired. Undefined where no address is listened on by TLS. Files are named relative to the configuration's.
 */
export function readTls(
  section: TlsSection,
  { file, root, listen, agents }: TlsContext,
  problems: Problems,
): TlsConfig | undefined {
  const placeOf = (key: string): Place => placeIn(root, `signalling.tls.${key}`);
  const texts = (["certificate", "key", "ca"] as const).filter((key) => isPem(section[key]));
  for (const key of texts) problems.error(placeOf(key), "found the text of a PEM file, expected its name");
  if (texts.length > 0) return undefined;
  const [listener] = listen.filter(({ protocol }) => protocol === "tls");
  if (!listener) {
    if (section.certificate !== "")
      problems.warning(placeOf("certificate"), "not used, as no tls:// address is listened on");
    return undefined;
  }
  const absolute = (name: string): string => (name === "" ? "" : resolve(dirname(file), name));
  const files = { certificate: absolute(section.certificate), key: absolute(section.key), ca: absolute(section.ca) };
  for (const key of ["certificate", "key"] as const) {
    if (files[key] === "")
      problems.error(placeOf(key), "found nothing, expected a PEM file, as a tls:// address is listened on");
  }
  checkFiles(files, placeOf, problems);
  if (section["client-certificate"] !== "none" && section.ca === "") {
    problems.warning(placeOf("client-certificate"), "without a ca any certificate of a public authority will do");
  }
  if (section.verify === "disabled") {
    problems.warning(placeOf("verify"), "whoever is on the way to an agent may take its place unnoticed");
  }
  const verify = section.verify === "enabled";
  return {
    ...files,
    clientCertificate: section["client-certificate"],
    minVersion: section["min-version"],
    verify,
    peers: peersOf(agents, verify),
  };
}

/** The agents whose certificates are looked at. */
function peersOf(agents: readonly AgentParams[], verify: boolean): TlsConfig["peers"] {
  return agents
    .filter((agent) => agent["transport-method"] === "TLS")
    .map((agent) => ({
      name: agent.hostname,
      address: agent["ip-address"],
      port: agent.port,
      verify: agent["tls-verify"] === "inherit" ? verify : agent["tls-verify"] === "enabled",
    }));
}

function checkFiles(files: TlsFiles, placeOf: (key: string) => Place, problems: Problems): void {
  const now = new Date();
  const texts = readTlsFiles(files, now);
  if (!("certificate" in texts)) {
    for (const { file, text } of texts) problems.error(placeOf(file), text);
    return;
  }
  const expiry = texts.certificate === undefined ? undefined : expiryOf(texts.certificate);
  if (expiry && expiry.getTime() - now.getTime() < noticeMs) {
    problems.warning(placeOf("certificate"), `the certificate expires on ${expiry.toISOString()}`);
  }
}
