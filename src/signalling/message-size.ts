import type { Message } from "./port.ts";

/** What drachtio-srf puts around a message: ids, the method, lengths. */
const overhead = 256;

/** Whether a message, with these texts around it, would be more bytes on its way to the engine than the engine takes. */
export function exceeds(maximum: number, { headers, body }: Message, ...around: string[]): boolean {
  if (maximum === Number.POSITIVE_INFINITY) return false;
  let size = overhead + Buffer.byteLength(body);
  for (const text of around) size += Buffer.byteLength(text);
  for (const name in headers) size += name.length + 4 + Buffer.byteLength(headers[name] ?? "");
  return size > maximum;
}

/** How a message is refused that exceeds what the engine takes. */
export const tooLarge = "larger than the engine takes";
