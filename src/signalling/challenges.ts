/** Fields whose repetitions must not be joined by commas (RFC 3261 section 7.3.1), though drachtio-srf does. */
const unjoinable = ["www-authenticate", "proxy-authenticate", "authorization", "proxy-authorization"];

/** Where a new challenge or credential starts in a joined value: a comma, then a scheme, then its first parameter. */
const boundary = /,\s*(?=[A-Za-z][\w-]*[ \t]+[\w-]+\s*=)/;

/** Puts challenges and credentials that were joined by commas back on lines of their own. Copies only when it must. */
export function unjoined(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  let copy: Record<string, string> | undefined;
  for (const name of unjoinable) {
    const value = headers[name];
    if (value === undefined) continue;
    const parts = value.split(boundary);
    if (parts.length === 1) continue;
    copy ??= { ...headers };
    copy[name] = parts.join(`\r\n${name}: `);
  }
  return copy ?? headers;
}
