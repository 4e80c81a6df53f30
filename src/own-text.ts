/** Up to here V8 copies what is cut out of a text; from here on it keeps a window on the whole of it. */
const longestCopied = 12;

/**
 * The same text in memory of its own. What outlives the message that it was cut out of must not keep that message: a
 * datagram is fifty times as long as the tag that a dialog remembers of it.
 */
export function ownText(text: string): string {
  return text.length <= longestCopied ? text : Buffer.from(text, "utf8").toString("utf8");
}
