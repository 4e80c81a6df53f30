import type { Protocol } from "./transport.ts";

const texts: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset by the peer",
  EHOSTUNREACH: "host unreachable",
  ENETUNREACH: "network unreachable",
  ETIMEDOUT: "connection timed out",
  EPIPE: "the peer closed the connection",
  EACCES: "not permitted by this system",
  EPERM: "not permitted by this system",
  EADDRNOTAVAIL: "no port or address left to send from",
};

/** What the system says in codes, in words and its code: `port closed, told by ICMP (ECONNREFUSED)`. Other texts as they are. */
export function failureText(error: Error, protocol: Protocol): string {
  const { code = "", message }: NodeJS.ErrnoException = error;
  const text = code === "ECONNREFUSED" && protocol === "udp" ? "port closed, told by ICMP" : texts[code];
  return text === undefined ? message : `${text} (${code})`;
}
