import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CertificateAuthority, Issued } from "./certificate-authority.ts";

/** A directory of PEM files, as a configuration names them. */
export class PemDirectory {
  readonly #path = mkdtempSync(join(tmpdir(), "weir-tls-"));

  /** The names of the files in which this now is; those of the same name are replaced, as by `mv`. */
  write(name: string, { certificate, key }: Issued, ca: Pick<CertificateAuthority, "certificate">) {
    return {
      certificate: this.#put(`${name}.pem`, certificate),
      key: this.#put(`${name}.key`, key),
      ca: this.#put(`${name}-ca.pem`, ca.certificate),
    };
  }

  remove(): void {
    rmSync(this.#path, { recursive: true });
  }

  #put(name: string, text: string): string {
    const file = join(this.#path, name);
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
    return file;
  }
}
