import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { hostPort, parseUri } from "../message/uri.ts";
import { normalAddress } from "./addresses.ts";
import type { TlsPeer, TlsSettings } from "./tls-settings.ts";

/** Where a connection leads. */
export interface StreamTarget {
  /** Numeric. */
  readonly address: string;
  readonly port: number;
  /** The name that the address was found by. */
  readonly name?: string;
}

/** Addresses remembered at most, so that names that lead to new ones for ever do not fill the memory. */
const maxAddresses = 50_000;

/** Which name a server has to prove, and whether it has to. */
export class TlsPeers {
  readonly #verify: boolean;
  readonly #byPort = new Map<string, TlsPeer>();
  readonly #byName = new Map<string, TlsPeer>();
  /** The first of several. */
  readonly #byAddress = new Map<string, TlsPeer>();

  constructor({ verify, peers }: Pick<TlsSettings, "verify" | "peers">) {
    this.#verify = verify;
    for (const peer of peers) {
      const address = normalAddress(peer.address);
      this.#byName.set(peer.name.toLowerCase(), peer);
      if (address === "") continue;
      // Of several at one address and port the stricter stands: they share their connections.
      const port = hostPort(address, peer.port);
      if (peer.verify || !this.#byPort.get(port)?.verify) this.#byPort.set(port, peer);
      if (!this.#byAddress.has(address)) this.#byAddress.set(address, peer);
    }
  }

  /** Tells peers at one address and port apart: the name of the one that is meant, "" when only the address is known. */
  keyOf({ address, port, name = "" }: StreamTarget): string {
    return this.#byPort.get(hostPort(address, port))?.name ?? name;
  }

  /** What the target is asked for by; "" when there is no name. */
  nameOf(target: StreamTarget): string {
    return this.#find(target)?.name ?? target.name ?? "";
  }

  mustProve(target: StreamTarget): boolean {
    return this.#find(target)?.verify ?? this.#verify;
  }

  /** Why this certificate, whose issuer is trusted, is not that of the target; undefined when it is. */
  mismatch(target: StreamTarget, certificate: PeerCertificate): Error | undefined {
    const names = [...new Set([this.nameOf(target), target.name ?? "", target.address])].filter((name) => name !== "");
    if (names.some((name) => isFor(name, certificate))) return undefined;
    const found = certificate.subjectaltname ?? `CN=${certificate.subject?.CN ?? ""}`;
    return new Error(`the certificate is for ${found}, not for ${names.join(" or ")}`);
  }

  /** A peer's Contact may have another port than the one it is configured with: it is the same peer then. */
  #find({ address, port, name = "" }: StreamTarget): TlsPeer | undefined {
    const named = this.#byName.get(name.toLowerCase());
    // So is what is later asked for by the address alone that this peer's name has led to.
    if (named !== undefined && !this.#byAddress.has(address)) this.#learn(address, named);
    return this.#byPort.get(hostPort(address, port)) ?? named ?? this.#byAddress.get(address);
  }

  #learn(address: string, peer: TlsPeer): void {
    if (this.#byAddress.size < maxAddresses) this.#byAddress.set(address, peer);
  }
}

/** RFC 5922 section 7.2: a SIP URI that names the domain counts as much as a DNS name; addresses as RFC 2818 has them. */
function isFor(name: string, certificate: PeerCertificate): boolean {
  if (checkServerIdentity(name, certificate) === undefined) return true;
  return (certificate.subjectaltname ?? "")
    .split(", ")
    .filter((each) => each.startsWith("URI:sip:"))
    .some((each) => {
      const uri = parseUri(each.slice("URI:".length));
      return uri !== undefined && uri.user === "" && uri.host.toLowerCase() === name.toLowerCase();
    });
}

/** The name by which a server is asked for its certificate; undefined where there is none (RFC 6066 section 3). */
export const serverName = (name: string): string | undefined => (name === "" || isIP(name) !== 0 ? undefined : name);
