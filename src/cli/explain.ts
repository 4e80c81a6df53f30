import { localResponses } from "../calls/local-responses.ts";
import type { CandidateView, Explanation } from "../routing/explanation.ts";
import { namedMethods } from "../routing/routed-methods.ts";
import { type AdminOptions, getAdmin } from "./admin-client.ts";
import { table } from "./table.ts";

/** What GET /v1/explain is asked; each as it was typed. */
export interface ExplainOptions extends AdminOptions {
  readonly to: string;
  readonly from?: string;
  readonly realm?: string;
  readonly at?: string;
  readonly method?: string;
  readonly agent?: string;
}

const asked = ["to", "from", "realm", "at", "method", "agent"] as const;

/** `weir explain`: where a call would go in the running Weir, and why. The text to print. */
export async function explain(options: ExplainOptions): Promise<string> {
  const query = new URLSearchParams();
  for (const key of asked) {
    const value = options[key];
    if (value !== undefined) query.set(key, value);
  }
  return explanationText(
    (await getAdmin(options, `/v1/explain?${query}`, "routes are not explained there")) as Explanation,
  );
}

export function explanationText(explanation: Explanation): string {
  const { request, policies, unfit, candidates, skipped, exhausted } = explanation;
  const address = (user: string, host: string): string => [user, host].filter((part) => part !== "").join("@");
  const from = address(request.from, request.fromHost);
  const head = `${request.method} to ${address(request.to, request.toHost)} from ${from}, realm ${request.sourceRealm}, at ${request.at}`;
  return [
    head,
    section(
      "policies that match, in order of preference",
      ["POLICY", "NEXT HOP", "WHY"],
      [...policies.map((hop) => [hop.policy, hop["next-hop"], hop.why])],
    ),
    section(
      "policies that would match but for",
      ["POLICY", "CONDITION"],
      [...unfit.map(({ policy, because }) => [policy, because])],
    ),
    section(
      "skipped",
      ["AGENT", "WHY"],
      skipped.map(({ agent, why }) => [agent, why]),
    ),
    section(
      "candidates, each after the one before it has failed",
      ["", "NEXT HOP", "GROUP", "POLICY", "CALLED", "CALLING"],
      candidates.map((candidate, at) => [
        String(at + 1),
        nameOf(candidate),
        candidate.group ?? "",
        candidate.policy,
        candidate.called ?? request.to,
        candidate.calling ?? request.from,
      ]),
    ),
    candidates.length > 0 ? ifAllFail : `result: ${refusalText(request.method, exhausted)}`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** Once an agent was asked, the caller is told how the last one ended and not why there is no other. */
const ifAllFail = "if all fail: the last one's response; 408 if it was silent, 503 if it could not be reached";

/** What the caller is told where nobody can be asked, as it is before `local-response-map`, and its name. */
function refusalText(method: string, cause: Explanation["exhausted"]): string {
  if (cause === "no-route" && namedMethods.has(method)) return `Weir's own answer, as no policy names ${method}`;
  const { status, reason } = localResponses[cause];
  return `${status} ${reason} (${cause})`;
}

const nameOf = ({ agent, address }: CandidateView): string => agent ?? address ?? "";

const section = (title: string, head: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.length === 0 ? "" : `${title}\n${table(head, rows)}`;
