import { agentParams, rateConstraintParams, surrogateParams } from "../../src/agents/params.ts";
import { type LocalResponse, localResponses } from "../../src/calls/local-responses.ts";
import { headerRuleParams } from "../../src/config/header-rules.ts";
import { localResponseNames, localResponseParams } from "../../src/config/local-responses.ts";
import { policyAttributeParams } from "../../src/config/policies.ts";
import { expectation, type SystemParam, type SystemParams } from "../../src/config/read-param.ts";
import { realmParams } from "../../src/config/realms.ts";
import { environmentName, sectionNames, systemParams } from "../../src/config/system-params.ts";
import { failoverParams, groupParams } from "../../src/routing/params.ts";
import { numberRuleParams } from "../../src/routing/translation-params.ts";

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll(/\s+/g, " ");

function row(cells: readonly string[]): string {
  return `| ${cells.map(cell).join(" | ")} |`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");
}

function defaultOf(param: SystemParam): string {
  const text = Array.isArray(param.default) ? param.default.join(", ") : String(param.default);
  return text === "" ? "none" : `\`${text}\``;
}

/** What a number counts where it is no unit. */
const unitless = ["port", "count", "cost"];

function values(param: SystemParam): string {
  if (param.format !== "number" || unitless.includes(param.unit)) return expectation(param);
  return `${expectation(param)} ${param.unit}`;
}

const plain = (params: SystemParams): string =>
  table(
    ["parameter", "values", "default", "meaning"],
    Object.entries(params).map(([name, param]) => [`\`${name}\``, values(param), defaultOf(param), param.doc]),
  );

const sections = (): string =>
  sectionNames
    .map((section) => {
      const rows = Object.entries<SystemParam>(systemParams[section]).map(([name, param]) => [
        `\`${name}\``,
        values(param),
        defaultOf(param),
        param.doc,
        `\`${environmentName(section, name)}\``,
      ]);
      return `### ${section}\n\n${table(["parameter", "values", "default", "meaning", "environment"], rows)}`;
    })
    .join("\n\n");

const localCauses = (): string =>
  table(
    ["name", "default response"],
    localResponseNames.map((name) => {
      const { status, reason, retryAfter }: LocalResponse = localResponses[name];
      return [`\`${name}\``, `${status} ${reason}${retryAfter ? ", Retry-After" : ""}`];
    }),
  );

/** What docs/configuration.md shows between `<!-- table: name -->` and `<!-- end -->`. */
export const parameterTables: Readonly<Record<string, () => string>> = {
  sections,
  realms: () => plain(realmParams),
  "session-agents": () => plain(agentParams),
  "rate-constraints": () => plain(rateConstraintParams),
  "surrogate-registration": () => plain(surrogateParams),
  "session-agent-groups": () => plain({ ...groupParams, ...failoverParams }),
  "local-responses": localCauses,
  "local-response-map": () =>
    table(
      ["parameter", "values", "meaning"],
      Object.entries(localResponseParams).map(([name, param]) => [`\`${name}\``, values(param), param.doc]),
    ),
  "policy-attributes": () => plain(policyAttributeParams),
  "translation-rules": () => plain(numberRuleParams),
  "header-rules": () => plain(headerRuleParams),
};

/** The page with every table as the parameters are now. */
export function withTables(page: string): string {
  return page.replaceAll(/<!-- table: ([\w-]+) -->\n[\s\S]*?<!-- end -->/g, (found, name: string) => {
    const generate = parameterTables[name];
    return generate ? `<!-- table: ${name} -->\n\n${generate()}\n\n<!-- end -->` : found;
  });
}
