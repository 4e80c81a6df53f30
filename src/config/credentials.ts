import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { AgentParams } from "../agents/params.ts";
import { fileFault } from "../file-fault.ts";
import { type Credentials, Secret } from "../secret.ts";
import type { Problems } from "./problems.ts";
import type { Placed } from "./session-agents.ts";

/** Where secrets may come from. The configuration itself is none: it is shown, mailed and kept in repositories. */
const sources = ["auth-password-env", "auth-password-file"] as const;

export interface SecretPlaces {
  /** Of the configuration: relative names start from its folder. */
  readonly file: string;
  readonly environment: NodeJS.ProcessEnv;
}

/** The credentials of each agent that has some, with the secrets fetched from where they are kept. */
export function readCredentials(
  agents: readonly Placed<AgentParams>[],
  places: SecretPlaces,
  problems: Problems,
): Map<string, Credentials> {
  const found = new Map<string, Credentials>();
  for (const agent of agents) {
    const { hostname, "auth-user": user, "auth-realm": realm } = agent.value;
    const password = readPassword(agent, places, problems);
    if (password && user !== "") found.set(hostname, { user, realm, password });
  }
  return found;
}

function readPassword(agent: Placed<AgentParams>, places: SecretPlaces, problems: Problems): Secret | undefined {
  const { value: params, placeOf } = agent;
  const refuse = (key: string, text: string): undefined => {
    problems.error(placeOf(key), text);
    return undefined;
  };
  const given = sources.filter((source) => params[source] !== "");
  const [source] = given;
  if (params["auth-user"] === "") {
    const orphan = source ?? (params["auth-realm"] === "" ? undefined : "auth-realm");
    return orphan && refuse(orphan, "found without auth-user, expected it beside the user that it is of");
  }
  if (/["\r\n]/.test(params["auth-user"]))
    return refuse("auth-user", "found a quote or a line end, expected a user name");
  if (!source) return refuse("auth-user", "found without a password, expected auth-password-env or auth-password-file");
  if (given.length > 1) return refuse(source, "found beside auth-password-file, expected one of the two");
  if (source === "auth-password-env") {
    const secret = places.environment[params[source]];
    return secret ? new Secret(secret) : refuse(source, unset(params[source]));
  }
  return readSecretFile(resolve(dirname(places.file), params[source]), agent, problems);
}

/** Whatever is not known to be a name may be the secret itself, so it is not repeated. */
const unset = (name: string): string =>
  /^[a-z_]\w*$/i.test(name)
    ? "found the name of a variable that is not set, expected that of one that holds the password"
    : "found what is no name of a variable, expected that of one that holds the password";

function readSecretFile(name: string, { placeOf }: Placed<AgentParams>, problems: Problems): Secret | undefined {
  const place = placeOf("auth-password-file");
  try {
    const { mode } = statSync(name);
    if (mode & 0o004) problems.warning(place, `${name} can be read by every user of this machine`);
    const [line = ""] = readFileSync(name, "utf8").split(/\r?\n/, 1);
    if (line !== "") return new Secret(line);
    problems.error(place, `found ${name} empty, expected the password in its first line`);
  } catch (error) {
    problems.error(place, `found the name of a file that cannot be read: ${fileFault(error)}`);
  }
  return undefined;
}
