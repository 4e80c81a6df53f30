import { type SurrogateParams, surrogateParams } from "../agents/params.ts";
import { defaultsOf } from "../params.ts";
import type { Problems } from "./problems.ts";
import { asMap, placeOf, readTable, refuseUnknownKeys, withDefaults } from "./read-map.ts";
import { childPath, type MapNode } from "./source-node.ts";

const defaults = defaultsOf(surrogateParams);

/** RFC 3261 section 10.2, with the scheme and the domain left out where they need no saying. */
const addressOfRecord =
  /^(?:sips?:)?(?:[\w.!~*'()&=+$,;?/-]|%[\da-f]{2})+(?:@(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?)?$/i;

/** The user part of a SIP URI as RFC 3261 section 25.1 has it. */
export const userPart = /^(?:[\w.!~*'()&=+$,;?/-]|%[\da-f]{2})*$/i;

/** An agent's `surrogate-registration`, undefined where it has none. */
export function readSurrogate(agent: MapNode, path: string, problems: Problems): SurrogateParams | undefined {
  const entry = agent.entries.get("surrogate-registration");
  const here = childPath(path, "surrogate-registration");
  const map = entry && asMap(entry.value, here, problems);
  if (!map) return undefined;
  refuseUnknownKeys(map, here, Object.keys(surrogateParams), problems);
  const params = withDefaults<typeof surrogateParams>(defaults, readTable(map, here, surrogateParams, problems));
  const { aor, "contact-user": user } = params;
  if (!addressOfRecord.test(aor)) {
    // What does not fit may be a password beside the user, with or without a domain.
    const found = aor === "" ? "nothing" : "another text";
    problems.error(
      placeOf(map, here, "aor"),
      `found ${found}, expected an address of record: user, user@domain or a SIP URI, without a password`,
    );
  }
  if (!userPart.test(user))
    problems.error(
      placeOf(map, here, "contact-user"),
      `found "${user.replace(/:.*/s, ":[secret]")}", expected the user part of a SIP URI`,
    );
  return params;
}
