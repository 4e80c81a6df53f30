import type { AgentParams } from "../agents/params.ts";
import type { GroupParams } from "../routing/params.ts";
import type { RealmConfig } from "./config.ts";
import type { GroupSource, PlacedText } from "./groups.ts";
import { withoutPassword } from "./misplaced-secrets.ts";
import type { Place, Problems } from "./problems.ts";
import { oneOf } from "./read-param.ts";
import type { Placed } from "./session-agents.ts";
import { didYouMean } from "./suggest.ts";

const groupMark = /^sag:/i;

/** Looking for the nearest name takes long among thousands, and a file of dangling names has one cause. */
const maxSuggestions = 100;

/** A SIP URI, or a numeric address or host name with a port or a dot, so that a mistyped agent is no host name. */
const address =
  /^(sips?:([^\s@;]+@)?([\w.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?(;transport=(udp|tcp|tls))?|\[[0-9a-f:.]+\](:\d{1,5})?|[\w-]+(\.[\w-]+)+(:\d{1,5})?|[\w-]+:\d{1,5})$/i;

/** Everything that other parts of the configuration may name, and the complaint about a name that is none of them. */
export class Names {
  readonly agents: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly realms: ReadonlySet<string>;
  readonly #problems: Problems;
  /** Those that policies have named so far, as nextHop gives them: each is one text, however many name it. */
  readonly #nextHops = new Map<string, string>();
  #suggestions = 0;

  constructor(
    agents: readonly Placed<AgentParams>[],
    groups: readonly GroupSource[],
    realms: readonly RealmConfig[],
    problems: Problems,
  ) {
    this.agents = new Set(agents.map(({ value }) => value.hostname));
    this.groups = new Set(groups.map(({ value }) => value["group-name"]));
    this.realms = new Set(realms.map(({ identifier }) => identifier));
    this.#problems = problems;
  }

  /** The group that a member or next hop names, `SAG:name` or, where no agent has that name, `name`. */
  group(name: string): string | undefined {
    if (groupMark.test(name)) return name.slice(4);
    return !this.agents.has(name) && this.groups.has(name) ? name : undefined;
  }

  /** True when the name is an agent's or a group's. */
  knows(name: string): boolean {
    const group = this.group(name);
    return group === undefined ? this.agents.has(name) : this.groups.has(group);
  }

  /** A next hop as the router wants it: `SAG:name` for a group. Refused where it is neither a name nor an address. */
  nextHop(name: string, place: () => Place): string {
    const before = this.#nextHops.get(name);
    if (before !== undefined) return before;
    const group = this.group(name);
    const nextHop = group === undefined ? name : `SAG:${group}`;
    if (this.knows(name) || (group === undefined && address.test(name))) this.#nextHops.set(name, nextHop);
    else this.refuse(place(), name, "a session agent's hostname, SAG:group or a SIP address");
    return nextHop;
  }

  checkRealm(name: string, place: () => Place): void {
    if (this.realms.has(name)) return;
    const expected = `* or the realm ${oneOf([...this.realms])}${didYouMean(name, this.realms)}`;
    this.#problems.error(place(), `found "${name}", expected ${expected}`);
  }

  refuse(place: Place, name: string, expected: string): void {
    const near = this.#suggestions++ < maxSuggestions ? didYouMean(name, this.#all()) : "";
    this.#problems.error(place, `found "${withoutPassword(name)}", expected ${expected}${near}`);
  }

  #all(): string[] {
    return [...this.agents, ...[...this.groups].map((group) => `SAG:${group}`)];
  }
}

/** Each agent with the realm it belongs to filled in. */
export function resolveAgents(agents: readonly Placed<AgentParams>[], names: Names, problems: Problems): AgentParams[] {
  const only = names.realms.size === 1 ? [...names.realms][0] : undefined;
  return agents.map((agent) => {
    const realm = agent.value["realm-id"] || (only ?? "default");
    if (!names.realms.has(realm)) {
      const found = agent.value["realm-id"] === "" ? "nothing" : `"${realm}"`;
      const expected = `the realm ${oneOf([...names.realms])}`;
      problems.error(
        agent.placeOf("realm-id"),
        `found ${found}, expected ${expected}${didYouMean(realm, names.realms)}`,
      );
    }
    return { ...agent.value, "realm-id": realm };
  });
}

export function resolveGroups(groups: readonly GroupSource[], names: Names, problems: Problems): GroupParams[] {
  for (const { value } of groups) {
    for (const { text, place } of value.dest) {
      if (!names.knows(text)) names.refuse(place, text, "a session agent's hostname or SAG:group");
    }
    for (const { text, place } of repeated(value.dest))
      problems.error(place, `found "${text}" a second time in the group`);
  }
  refuseCycles(groups, names, problems);
  return groups.map(({ value }) => ({ ...value, dest: value.dest.map(({ text }) => text) }));
}

const repeated = (dest: readonly PlacedText[]): PlacedText[] =>
  dest.filter(({ text }, at) => dest.findIndex((other) => other.text === text) < at);

/** Depth first over the groups; a member that leads back to a group on the way is refused where it is written. */
function refuseCycles(groups: readonly GroupSource[], names: Names, problems: Problems): void {
  const byName = new Map(groups.map((group) => [group.value["group-name"], group]));
  const finished = new Set<string>();
  const visit = (name: string, way: readonly string[]): void => {
    for (const { text, place } of byName.get(name)?.value.dest ?? []) {
      const member = names.group(text);
      if (member === undefined || finished.has(member)) continue;
      const at = way.indexOf(member);
      if (at < 0) visit(member, [...way, member]);
      else {
        const cycle = [...way.slice(at), member].join(" > ");
        problems.error(place, `found the cycle of groups ${cycle}, expected no group within itself`);
      }
    }
    finished.add(name);
  };
  for (const name of byName.keys()) if (!finished.has(name)) visit(name, [name]);
}

/** Names that must be unique within their list. */
export function refuseRepeats<T>(items: readonly Placed<T>[], key: keyof T & string, problems: Problems): void {
  const first = new Map<unknown, Placed<T>>();
  for (const item of items) {
    const name = item.value[key];
    const before = first.get(name);
    if (!before) first.set(name, item);
    else {
      const text = `found "${String(name)}" a second time, expected it once (first on line ${before.placeOf(key).line})`;
      problems.error(item.placeOf(key), text);
    }
  }
}
