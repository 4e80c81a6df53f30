import { open } from "node:fs/promises";
import { WeirError } from "../errors.ts";
import { formatListenAddress } from "./addresses.ts";
import type { ListenAddress, RealmConfig, WeirConfig } from "./config.ts";
import { readCredentials } from "./credentials.ts";
import { readGroups } from "./groups.ts";
import { readHeaderRules } from "./header-rules.ts";
import { refuseAdminOverlap, refuseOverlaps, warnAboutListening } from "./listening.ts";
import { readLocalResponses } from "./local-responses.ts";
import { readPolicies } from "./policies.ts";
import { type Problem, Problems } from "./problems.ts";
import { asMap, placeIn, refuseUnknownKeys } from "./read-map.ts";
import { readRealms } from "./realms.ts";
import { Names, refuseRepeats, resolveAgents, resolveGroups } from "./references.ts";
import { checkRuleReferences } from "./rule-references.ts";
import { withListeners } from "./senders.ts";
import { readAgents, warnAboutPingTimeouts } from "./session-agents.ts";
import type { MapNode, SourceNode } from "./source-node.ts";
import { sourceRules, warnAboutSources } from "./sources.ts";
import { readSystem, type SystemConfig } from "./system.ts";
import { sectionNames } from "./system-params.ts";
import { readTls } from "./tls.ts";
import { readTranslations } from "./translation-rules.ts";
import { parseYaml } from "./yaml-source.ts";

/** A configuration that may be started, with what is odd in it; or everything that is wrong with it. */
export type LoadedConfig =
  | { readonly config: WeirConfig; readonly warnings: readonly Problem[] }
  | { readonly errors: readonly Problem[]; readonly warnings: readonly Problem[] };

/** Larger files are refused unread; 10,000 agents with every parameter set take about 15 MB. */
const maximumBytes = 32 * 1024 * 1024;

const otherKeys = [
  "realms",
  "session-agents",
  "session-agent-groups",
  "local-policies",
  "translation-rules",
  "header-rules",
  "local-response-map",
];
const topLevelKeys = [...sectionNames.filter((name) => !name.includes(".")), ...otherKeys];

/**
 * Reads a configuration file. Everything wrong within it is in the result.
 * Throws WEIR_CONFIG_UNREADABLE when there is no such file, or it may not be read.
 */
export async function loadConfigFile(file: string, environment = process.env): Promise<LoadedConfig> {
  const bytes = await readStart(file);
  const problems = new Problems(file);
  const text = textOf(bytes, problems);
  return text === undefined ? { errors: problems.errors, warnings: [] } : loadConfig(text, file, environment);
}

/** Reads a configuration from its YAML text. `file` is named in the problems; `environment` overrides what is set. */
export function loadConfig(text: string, file: string, environment = process.env): LoadedConfig {
  const problems = new Problems(file);
  const document = parseYaml(text, problems);
  const root = document && asRoot(document, problems);
  const config = root && readConfig(root, file, environment, problems);
  const { errors, warnings } = problems;
  return config && errors.length === 0 ? { config, warnings } : { errors, warnings };
}

/** At most one byte more than allowed, so that neither a huge file nor an endless device fills the memory. */
async function readStart(file: string): Promise<Buffer> {
  try {
    const handle = await open(file, "r");
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of handle.createReadStream({ autoClose: false, end: maximumBytes })) chunks.push(chunk);
      return Buffer.concat(chunks);
    } finally {
      await handle.close();
    }
  } catch (cause) {
    throw new WeirError("WEIR_CONFIG_UNREADABLE", { file }, { cause });
  }
}

/** Control characters that no text has; tabs and line ends are none of them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const binary = /[\0-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f]/;

function textOf(bytes: Buffer, problems: Problems): string | undefined {
  const refuse = (found: string, expected: string, line = 0): undefined => {
    problems.error({ line, path: "" }, `found ${found}, expected ${expected}`);
    return undefined;
  };
  if (bytes.length > maximumBytes) return refuse(`more than ${maximumBytes} bytes`, "a configuration of less");
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const at = text.search(binary);
    return at < 0 ? text : refuse("binary data", "YAML text", text.slice(0, at).split("\n").length);
  } catch (error) {
    if (error instanceof TypeError) return refuse("bytes that are no UTF-8 text", "YAML text in UTF-8");
    throw error;
  }
}

function asRoot(document: SourceNode, problems: Problems): MapNode | undefined {
  if (document.kind === "scalar" && document.value === null) {
    const text = "found nothing, expected sections such as session-agents and local-policies";
    problems.error({ line: 1, path: "" }, text);
    return undefined;
  }
  return asMap(document, "", problems);
}

function readConfig(root: MapNode, file: string, environment: NodeJS.ProcessEnv, problems: Problems): WeirConfig {
  refuseUnknownKeys(root, "", topLevelKeys, problems);
  const system = readSystem(root, environment, problems);
  checkSystem(system, root, problems);
  const { realms, listeners } = readRealms(root, system.signalling.listen, system.sources, problems);
  const listen = listenOf(realms, system, root, problems);

  const agents = readAgents(root, problems);
  const groups = readGroups(root, problems);
  const names = new Names(agents, groups, realms, problems);
  const policies = readPolicies(root, names, problems);
  refuseRepeats(agents, "hostname", problems);
  refuseRepeats(groups, "group-name", problems);
  for (const [key, items] of Object.entries({ "session-agents": agents, "local-policies": policies })) {
    if (items.length === 0) problems.warning({ line: root.line, path: key }, "there are none, so no call is routed");
  }
  const embedded = system.signalling.engine === "embedded";
  refuseOverlaps(listeners, embedded, problems);
  if (embedded) {
    refuseAdminOverlap(system.admin.listen, placeIn(root, "admin.listen"), listeners, problems);
    warnAboutListening(agents, listen, problems);
    warnAboutPingTimeouts(agents, system.signalling.timers.t1, problems);
  }

  const responses = readLocalResponses(root, problems);
  const translations = readTranslations(root, problems);
  const headerRules = readHeaderRules(root, problems);
  const idsOf = (sets: readonly { readonly id: string }[]) => sets.map(({ id }) => id);
  const ids = { "translation-rules": idsOf(translations), "header-rules": idsOf(headerRules) };
  checkRuleReferences(root, ids, problems);
  const placed = resolveAgents(agents, names, problems);
  const resolved = embedded ? withListeners(placed, realms, listen) : placed;
  const { tls: tlsSection, ...signalling } = system.signalling;
  const tls = readTls(tlsSection, { file, root, listen: embedded ? listen : [], agents: resolved }, problems);
  warnAboutSources(realms, agents, problems);
  const sources = sourceRules(realms, resolved, { ...system, "local-response-map": responses });
  const credentials = readCredentials(agents, { file, environment }, problems);
  return {
    ...system,
    signalling: { ...signalling, listen, sources, dns: system.dns, ...(tls && { tls }) },
    realms,
    "local-response-map": responses,
    "translation-rules": translations,
    "header-rules": headerRules,
    "session-agents": resolved,
    credentials,
    "session-agent-groups": resolveGroups(groups, names, problems),
    "local-policies": policies,
  };
}

function checkSystem(system: SystemConfig, root: MapNode, problems: Problems): void {
  const { min, max } = system["retry-after"];
  const line = lineOf(root, "retry-after");
  if (min > max)
    problems.error({ line, path: "retry-after.min" }, `found ${min}, expected no more than max, which is ${max}`);
  const { t1, t2 } = system.signalling.timers;
  const place = { line: lineOf(root, "signalling"), path: "signalling.timers.t1" };
  if (t1 > t2) problems.error(place, `found ${t1}, expected no more than t2, which is ${t2}`);
}

/** Every address that any realm listens on. */
function listenOf(realms: readonly RealmConfig[], system: SystemConfig, root: MapNode, problems: Problems) {
  const listen: readonly ListenAddress[] = realms.flatMap((realm) => realm.listen);
  const line = lineOf(root, "signalling");
  const ofRealms = root.entries.has("realms");
  if (listen.length === 0 && !ofRealms && system.signalling.engine === "embedded") {
    problems.error({ line, path: "signalling.listen" }, "found nothing, expected at least one address");
  }
  const signalling = root.entries.get("signalling")?.value;
  const written = signalling?.kind === "map" && signalling.entries.has("listen");
  const same = texts(listen) === texts(system.signalling.listen);
  if (written && !same)
    problems.warning({ line, path: "signalling.listen" }, "not used, as the realms say where to listen");
  return listen;
}

const texts = (listen: readonly ListenAddress[]): string => listen.map(formatListenAddress).sort().join();

const lineOf = (root: MapNode, key: string): number => root.entries.get(key)?.line ?? root.line;
