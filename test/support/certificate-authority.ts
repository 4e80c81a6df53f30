import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";

/** A certificate with its private key, both PEM. */
export interface Issued {
  readonly certificate: string;
  readonly key: string;
}

export interface Wanted {
  /** DNS names, addresses and `sip:` URIs that it is for. */
  readonly names: readonly string[];
  readonly from?: Date;
  readonly to?: Date;
  /** Of the key, as OpenSSL calls it; P-256 where nothing is said. */
  readonly curve?: string;
}

const day = 86_400_000;
/** Before any date that a test's clock may show. */
const longAgo = new Date("2000-01-01");

/**
 * Issues certificates for tests, such as no real authority would: expired, for other names. Node.js can sign but knows no
 * certificates, so the few structures of RFC 5280 that are needed are written here, with P-256 keys, which take no time.
 */
export class CertificateAuthority {
  /** Its own certificate, PEM. */
  readonly certificate: string;
  readonly #name: Buffer;
  readonly #key: KeyObject;

  constructor(commonName = "Test Authority") {
    const { privateKey, publicKey } = newKeys();
    this.#name = distinguishedName(commonName);
    this.#key = privateKey;
    const extensions = [extension(oid.basicConstraints, true, sequence(der(0x01, Buffer.of(0xff))))];
    this.certificate = this.#issue(this.#name, publicKey, extensions, {});
  }

  issue({ names, curve, ...validity }: Wanted): Issued {
    const { privateKey, publicKey } = newKeys(curve);
    const alternatives = extension(oid.subjectAltName, false, sequence(...names.map(generalName)));
    return {
      certificate: this.#issue(distinguishedName(names[0] ?? "nobody"), publicKey, [alternatives], validity),
      key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    };
  }

  /** RFC 5280 section 4.1. */
  #issue(
    subject: Buffer,
    publicKey: KeyObject,
    extensions: readonly Buffer[],
    { from = longAgo, to = new Date(Date.now() + 365 * day) }: Pick<Wanted, "from" | "to">,
  ): string {
    const tbs = sequence(
      der(0xa0, integer(Buffer.of(2))),
      integer(Buffer.concat([Buffer.of(1), randomBytes(15)])),
      ecdsaWithSha256,
      this.#name,
      sequence(time(from), time(to)),
      subject,
      publicKey.export({ type: "spki", format: "der" }),
      der(0xa3, sequence(...extensions)),
    );
    const signature = sign("sha256", tbs, this.#key);
    const base64 = sequence(tbs, ecdsaWithSha256, der(0x03, Buffer.concat([Buffer.of(0), signature]))).toString(
      "base64",
    );
    return `-----BEGIN CERTIFICATE-----\n${base64.match(/.{1,64}/g)?.join("\n")}\n-----END CERTIFICATE-----\n`;
  }
}

const newKeys = (namedCurve = "P-256") => generateKeyPairSync("ec", { namedCurve });

/** One value in DER (X.690): tag, length, content. */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, Buffer.concat(parts));
/** A leading zero keeps it positive. */
const integer = (bytes: Buffer): Buffer =>
  der(0x02, (bytes[0] ?? 0) < 0x80 ? bytes : Buffer.concat([Buffer.of(0), bytes]));
const object = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"));
const time = (date: Date): Buffer => der(0x18, Buffer.from(`${date.toISOString().replaceAll(/[-:T]|\..*/g, "")}Z`));

const oid = {
  commonName: object("550403"),
  subjectAltName: object("551d11"),
  basicConstraints: object("551d13"),
};
const ecdsaWithSha256 = sequence(object("2a8648ce3d040302"));

const distinguishedName = (commonName: string): Buffer =>
  sequence(der(0x31, sequence(oid.commonName, der(0x0c, Buffer.from(commonName)))));

const extension = (id: Buffer, critical: boolean, value: Buffer): Buffer =>
  sequence(id, ...(critical ? [der(0x01, Buffer.of(0xff))] : []), der(0x04, value));

function generalName(name: string): Buffer {
  if (name.startsWith("sip:")) return der(0x86, Buffer.from(name));
  if (isIP(name) === 4) return der(0x87, Buffer.from(name.split(".").map(Number)));
  return der(0x82, Buffer.from(name));
}
