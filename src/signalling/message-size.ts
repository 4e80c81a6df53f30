import type { Message } from "./port.ts";

/** Start line, the fields that drachtio-srf adds, and the frame around the message. */
const overhead = 512;

/** Whether a message would be more bytes, on its way to the engine, than the engine takes. */
export function exceeds(maximum: number, { headers, body }: Message): boolean {
  if (maximum === Number.POSITIVE_INFINITY) return false;
  let size = overhead + Buffer.byteLength(body);
  for (const name in headers) size += name.length + 4 + Buffer.byteLength(headers[name] ?? "");
  return size > maximum;
}

/** How a message is refused that exceeds what the engine takes. */
export const tooLarge = "larger than the engine takes";
