/** Prefixes of two to eight digits, all different. */
export const prefixOf = (at: number): string => `${10 + (at % 90)}${at < 90 ? "" : String(Math.floor(at / 90))}`;

interface Sizes {
  readonly policies: number;
  readonly agents: number;
}

type Style = (items: readonly Readonly<Record<string, unknown>>[]) => string;

/** The two ways in which lists of this length are written: an item on one line each, and a value on one line each. */
export const styles: Readonly<Record<"flow" | "block", Style>> = {
  flow: (items) => items.map((item) => `  - ${flow(item)}\n`).join(""),
  block: (items) => items.map((item) => `  - ${block(item, "    ")}`).join(""),
};

/** A configuration with agents in groups of four, and policies that lead to the groups, in YAML. */
export function largeConfig({ policies, agents }: Sizes, style: Style): string {
  const groups = Math.ceil(agents / 4);
  const sections = {
    "session-agents": list(agents, (at) => ({
      hostname: `carrier-${at}.example.net`,
      "ip-address": `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`,
      "max-outbound-sessions": 1_000,
      "max-burst-rate": 100,
    })),
    "session-agent-groups": list(groups, (at) => ({
      "group-name": `g${at}`,
      strategy: "least-busy",
      dest: list(Math.min(4, agents - at * 4), (member) => `carrier-${at * 4 + member}.example.net`),
    })),
    "local-policies": list(policies, (at) => ({
      "to-address": [JSON.stringify(prefixOf(at))],
      "policy-attributes": [{ "next-hop": `"SAG:g${at % groups}"`, cost: 0 }],
    })),
  };
  const lists = Object.entries(sections).map(([name, items]) => `${name}:\n${style(items)}`);
  return `signalling: { listen: ["udp://10.255.255.1:5060"] }\n${lists.join("")}`;
}

const list = <T>(length: number, item: (at: number) => T): T[] => Array.from({ length }, (_, at) => item(at));

function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (typeof value !== "object" || value === null) return String(value);
  const entries = Object.entries(value).map(([key, each]) => `${key}: ${flow(each)}`);
  return `{ ${entries.join(", ")} }`;
}

function block(value: unknown, indent: string): string {
  if (Array.isArray(value)) return `\n${value.map((each) => `${indent}- ${block(each, `${indent}  `)}`).join("")}`;
  if (typeof value !== "object" || value === null) return `${value}\n`;
  const entries = Object.entries(value).map(([key, each]) => {
    return `${key}:${Array.isArray(each) ? "" : " "}${block(each, `${indent}  `)}`;
  });
  return entries.join(indent);
}
