/** Names and URIs of SIP, for those above who may not know the engine. */
export { type NameAddr, parseNameAddr } from "../engine/message/name-addr.ts";
export { splitValues } from "../engine/message/params.ts";
export { hostPort, isSips, parseUri, type SipUri } from "../engine/message/uri.ts";
export { normalAddress } from "../engine/transport/addresses.ts";
