import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { fileFault } from "./file-fault.ts";

/** Names of PEM files; "" = none. */
export interface TlsFiles {
  /** The certificate that is shown to peers, followed by those that lead from it to its authority. */
  readonly certificate: string;
  /** Its private key, not encrypted. */
  readonly key: string;
  /** The authorities whose certificates are believed; none = those that Node.js comes with. */
  readonly ca: string;
}

/** What the files hold; undefined for those that are not named. */
export type TlsTexts = { readonly [file in keyof TlsFiles]: string | undefined };

/** Why a file cannot be used, in the words of "found …, expected …". */
export interface TlsFault {
  readonly file: keyof TlsFiles;
  readonly text: string;
}

/** The texts of the files, or everything that keeps them from being used at this date. */
export function readTlsFiles(files: TlsFiles, now: Date): TlsTexts | readonly TlsFault[] {
  const faults: TlsFault[] = [];
  const read = (file: keyof TlsFiles): string | undefined => {
    const name = files[file];
    if (name === "") return undefined;
    try {
      return readFileSync(name, "latin1");
    } catch (error) {
      // What is no file may be the key itself.
      const found = file === "key" ? "the name of a file that" : `${name}, which`;
      faults.push({ file, text: `found ${found} cannot be read: ${fileFault(error)}` });
      return undefined;
    }
  };
  const texts = { certificate: read("certificate"), key: read("key"), ca: read("ca") };
  const own = texts.certificate === undefined ? [] : certificatesOf("certificate", texts.certificate, files, faults);
  if (texts.ca !== undefined) certificatesOf("ca", texts.ca, files, faults);
  for (const certificate of own) refuseOutdated(certificate, files, now, faults);
  if (texts.key !== undefined) checkKey(texts.key, own[0], files, faults);
  if (faults.length === 0) tryOut(texts, files, faults);
  return faults.length > 0 ? faults : texts;
}

/** The date on which the first certificate of a PEM text ends. */
export const expiryOf = (certificate: string): Date => new Date(new X509Certificate(certificate).validTo);

const pemCertificate = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

function certificatesOf(
  file: "certificate" | "ca",
  text: string,
  files: TlsFiles,
  faults: TlsFault[],
): X509Certificate[] {
  try {
    const found = (text.match(pemCertificate) ?? []).map((pem) => new X509Certificate(pem));
    if (found.length === 0) faults.push({ file, text: `found ${files[file]}, in which there is no PEM certificate` });
    return found;
  } catch (error) {
    faults.push({ file, text: `found ${files[file]}, in which a certificate is broken: ${textOf(error)}` });
    return [];
  }
}

function refuseOutdated(certificate: X509Certificate, files: TlsFiles, now: Date, faults: TlsFault[]): void {
  const { validFrom, validTo, subject } = certificate;
  const refuse = (text: string): void => {
    const whose = subject.replaceAll("\n", ", ");
    faults.push({
      file: "certificate",
      text: `found ${files.certificate}, in which the certificate of ${whose} ${text}`,
    });
  };
  if (new Date(validTo) <= now) refuse(`expired on ${validTo}`);
  if (new Date(validFrom) > now) refuse(`is not valid before ${validFrom}`);
}

function checkKey(text: string, certificate: X509Certificate | undefined, files: TlsFiles, faults: TlsFault[]): void {
  const refuse = (why: string): void => {
    faults.push({ file: "key", text: `found ${files.key}, ${why}` });
  };
  try {
    const key = createPrivateKey(text);
    if (certificate && !certificate.checkPrivateKey(key)) refuse(`which is not the key of ${files.certificate}`);
  } catch (error) {
    refuse(`in which there is no PEM private key without a passphrase: ${textOf(error)}`);
  }
}

/** OpenSSL has demands of its own: keys of a certain strength, digests that still count as safe. */
function tryOut(texts: TlsTexts, files: TlsFiles, faults: TlsFault[]): void {
  try {
    createSecureContext(secureContextOf(texts));
  } catch (error) {
    const reason = error instanceof Error && "reason" in error ? error.reason : textOf(error);
    faults.push({ file: "certificate", text: `found ${files.certificate}, which cannot be used: ${reason}` });
  }
}

/** The texts as Node.js takes them. */
export const secureContextOf = ({ certificate, key, ca }: TlsTexts): SecureContextOptions => ({
  ...(certificate !== undefined && { cert: certificate }),
  ...(key !== undefined && { key }),
  ...(ca !== undefined && { ca }),
});

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
