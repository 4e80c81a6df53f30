import type { TlsFiles } from "../../tls-files.ts";

/** A peer whose certificate is to be looked at in a way of its own. */
export interface TlsPeer {
  /** What it is asked for by (server name indication) and what its certificate may name. */
  readonly name: string;
  /** Numeric; "" = the name is looked up. */
  readonly address: string;
  readonly port: number;
  /** False: whatever certificate it shows will do. */
  readonly verify: boolean;
}

/** How TLS is spoken: plain data, so that it can be handed to another thread. */
export interface TlsSettings extends TlsFiles {
  /** Of peers that connect: a certificate is not asked for, or is asked for, or is demanded. */
  readonly clientCertificate: "none" | "request" | "require";
  readonly minVersion: "TLSv1.2" | "TLSv1.3";
  /** Whether servers that are no `peers` must show a certificate that fits. */
  readonly verify: boolean;
  readonly peers: readonly TlsPeer[];
}

/** No certificate of our own, peers as strictly looked at as by default. */
export const withoutTls: TlsSettings = {
  certificate: "",
  key: "",
  ca: "",
  clientCertificate: "none",
  minVersion: "TLSv1.2",
  verify: true,
  peers: [],
};
