import { readFile } from "node:fs/promises";
import { isIP } from "node:net";

/** Addresses of a name in a hosts file, of one family. Empty where it is not in there, or there is no such file. */
export async function addressesInHosts(name: string, family: 4 | 6, file = "/etc/hosts"): Promise<string[]> {
  const wanted = name.toLowerCase();
  const text = await readFile(file, "utf8").catch(() => "");
  const found: string[] = [];
  for (const line of text.split("\n")) {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    if (isIP(address) === family && names.some((each) => each.toLowerCase() === wanted)) found.push(address);
  }
  return found;
}
