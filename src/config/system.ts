import convict from "convict";
import type { SignallingConfig, WeirConfig } from "./config.ts";
import type { Problems } from "./problems.ts";
import { asMap, readTable, refuseUnknownKeys } from "./read-map.ts";
import { readParam, type SystemParam } from "./read-param.ts";
import { childPath, type MapNode, type ScalarNode } from "./source-node.ts";
import { didYouMean } from "./suggest.ts";
import { environmentName, type SectionName, sectionNames, systemParams } from "./system-params.ts";
import type { TlsSection } from "./tls.ts";

/** What the sections outside the lists say; the rest follows from all of the file. */
export type SystemConfig = Pick<WeirConfig, Exclude<Extract<SectionName, keyof WeirConfig>, "signalling">> & {
  readonly signalling: Omit<SignallingConfig, "sources" | "dns" | "tls"> & { readonly tls: TlsSection };
};

/** Text of an environment variable that its parameter does not take. */
class Rejected {
  constructor(
    readonly found: string,
    readonly expected: string,
  ) {}
}

interface Leaf {
  readonly section: string;
  readonly name: string;
  readonly param: SystemParam;
}

const leaves: readonly Leaf[] = sectionNames.flatMap((section) =>
  Object.entries<SystemParam>(systemParams[section]).map(([name, param]) => ({ section, name, param })),
);

/** Text without a YAML parser around it: from the environment, or a default as it is documented. */
function fromText(param: SystemParam, text: string): unknown {
  const number = text.trim() === "" ? Number.NaN : Number(text);
  const isNumber = param.format === "number" && Number.isFinite(number);
  const node: ScalarNode = { kind: "scalar", line: 0, value: isNumber ? number : text, text };
  const reading = readParam(param, node);
  return "value" in reading ? reading.value : new Rejected(reading.found, reading.expected);
}

/**
 * Convict's schema from the tables. Each parameter is a format of its own, since convict tells a converter which text
 * to convert but not the parameter it is for.
 */
function schemaOf(): convict.Schema<SystemConfig> {
  const schema: Record<string, unknown> = {};
  for (const { section, name, param } of leaves) {
    const format = `${section}.${name}`;
    convict.addFormat({ name: format, validate: () => {}, coerce: (text: string) => fromText(param, text) });
    const parent = section.split(".").reduce<Record<string, unknown>>(childOf, schema);
    parent[name] = {
      format,
      doc: param.doc,
      default: fromText(param, Array.isArray(param.default) ? param.default.join() : String(param.default)),
      env: environmentName(section, name),
    };
  }
  return schema as convict.Schema<SystemConfig>;
}

function childOf(parent: Record<string, unknown>, key: string): Record<string, unknown> {
  const child = (parent[key] ?? {}) as Record<string, unknown>;
  parent[key] = child;
  return child;
}

const schema = schemaOf();

/** Reads the sections outside the lists: the file over the defaults, the environment over both. */
export function readSystem(root: MapNode, environment: NodeJS.ProcessEnv, problems: Problems): SystemConfig {
  const fromFile: Record<string, unknown> = {};
  readSection(root, "", fromFile, problems);
  warnOfUnknownVariables(environment, problems);
  const set = Object.fromEntries(Object.entries(environment).filter(([, text]) => text !== undefined && text !== ""));
  const merged = convict(schema, { env: set, args: [] }).load(fromFile);
  for (const { section, name } of leaves) {
    const value: unknown = merged.get(`${section}.${name}` as "logging.level");
    if (value instanceof Rejected) {
      problems.environmentError(environmentName(section, name), `found ${value.found}, expected ${value.expected}`);
    }
  }
  return merged.getProperties() as SystemConfig;
}

const variables = new Set(leaves.map(({ section, name }) => environmentName(section, name)));

/** Those of our tests, and those that Kubernetes sets for a service named weir. */
const variablesOfOthers = /^WEIR_(TEST_|SERVICE_|PORT(_|$))/;

function warnOfUnknownVariables(environment: NodeJS.ProcessEnv, problems: Problems): void {
  for (const variable of Object.keys(environment)) {
    if (!variable.startsWith("WEIR_") || variables.has(variable) || variablesOfOthers.test(variable)) continue;
    problems.environmentWarning(variable, `unknown variable, not used${didYouMean(variable, variables)}`);
  }
}

/** One level of the file: the sections below `path`, and theirs. */
function readSection(map: MapNode, path: string, into: Record<string, unknown>, problems: Problems): void {
  for (const [key, entry] of map.entries) {
    const section = sectionNames.find((name) => name === childPath(path, key));
    const child = section && asMap(entry.value, section, problems);
    if (!section || !child) continue;
    const table = systemParams[section];
    refuseUnknownKeys(child, section, [...Object.keys(table), ...subsections(section)], problems);
    const values: Record<string, unknown> = Object.fromEntries(readTable(child, section, table, problems));
    readSection(child, section, values, problems);
    into[key] = values;
  }
}

const subsections = (section: string): string[] =>
  sectionNames.filter((name) => name.startsWith(`${section}.`)).map((name) => name.slice(section.length + 1));
