import type { SourceScreen } from "../engine/core/source-screen.ts";
import { parseNameAddr } from "../engine/message/name-addr.ts";
import type { SourceRefusal } from "../source-rules.ts";
import type { Reply } from "./port.ts";
import type { RawRequest } from "./raw-srf.ts";
import { reasonPhrase } from "./reason-phrases.ts";

/** The screen of an engine outside, which has none of its own: what it has let in is judged when it gets here. */
export function judge(screen: SourceScreen, request: RawRequest): SourceRefusal | undefined {
  const { msg, source_address: source, stackDialogId = "", receivedOn = "", protocol } = request;
  const port = receivedOn.lastIndexOf(":");
  const entrance = {
    protocol,
    localAddress: receivedOn.slice(0, Math.max(0, port)).replace(/^\[|\]$/g, ""),
    localPort: Number(receivedOn.slice(port + 1)),
  };
  const screened = {
    method: msg.method,
    source,
    userAgent: () => msg.headers["user-agent"],
    belongs: () => stackDialogId !== "" || Boolean(parseNameAddr(msg.headers.to ?? "")?.tag),
  };
  return screen.judge(screened, entrance);
}

/** Such an engine waits for an answer to everything, so that silence cannot be kept. */
export function refusalReply({ status, reason, retryAfter, "q850-cause": cause }: SourceRefusal): Reply {
  const headers = {
    ...(retryAfter && { "retry-after": String(retryAfter.min) }),
    ...(cause !== undefined && { reason: `Q.850;cause=${cause}` }),
  };
  return { status, reason: reason ?? reasonPhrase(status), headers, body: "" };
}
