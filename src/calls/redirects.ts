import type { Redirect } from "../routing/route-plan.ts";
import { parseNameAddr, parseUri, splitValues } from "../signalling/addresses.ts";

/** Whether a response tells where to ask instead by its Contacts (RFC 3261 sections 21.3 and 21.4.23). */
export const namesContacts = (status: number): boolean => (status >= 300 && status < 400) || status === 485;

/** The SIP addresses among the Contacts of a 3xx, by q, highest first; equals in their order (RFC 3261 section 8.1.3.4). */
export function contactsOf(value: string | undefined): Redirect[] {
  if (value === undefined) return [];
  const found: { readonly redirect: Redirect; readonly q: number }[] = [];
  for (const each of splitValues(value)) {
    const contact = parseNameAddr(each);
    const uri = contact && parseUri(contact.uri);
    // A SIPS address asks for TLS on every hop behind it, which nobody here can promise.
    if (!contact || !uri || uri.secure) continue;
    const { user, host, port } = uri;
    found.push({ redirect: { uri: contact.uri, user, host, port }, q: qOf(contact.param("q")) });
  }
  return found.sort((a, b) => b.q - a.q).map(({ redirect }) => redirect);
}

function qOf(text: string | undefined): number {
  const q = text === undefined ? 1 : Number.parseFloat(text);
  return q >= 0 && q <= 1 ? q : 0;
}

/**
 * Contacts as the other side may see them: the users at our own address, so that whoever asks there is routed again, and
 * no address of the side they came from shows. Those without a user say nothing then and are left out; telephone numbers
 * hide nothing. Undefined when none is left.
 */
export function hiddenContacts(value: string, transport: string): string | undefined {
  const shown: string[] = [];
  for (const each of splitValues(value)) {
    const contact = parseNameAddr(each);
    const uri = contact && parseUri(contact.uri);
    if (!contact || (uri && uri.user === "") || (!uri && !/^tel:/i.test(contact.uri))) continue;
    const address = uri ? `sip:${uri.user}@localhost${transport}` : contact.uri;
    shown.push(`${contact.display === "" ? "" : `${contact.display} `}<${address}>${contact.params}`);
  }
  return shown.length === 0 ? undefined : shown.join(", ");
}
