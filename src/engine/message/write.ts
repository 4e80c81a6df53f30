import { reasonPhrase } from "./reason-phrases.ts";
import type { SipMessage } from "./sip-message.ts";

/** Builds the text of one message, line by line. The last call is `body`, which also writes Content-Length. */
export class MessageWriter {
  #text: string;

  private constructor(startLine: string) {
    this.#text = `${startLine}\r\n`;
  }

  static request(method: string, uri: string): MessageWriter {
    return new MessageWriter(`${method} ${uri} SIP/2.0`);
  }

  /** `phrase` defaults to the registered one. */
  static response(status: number, phrase: string = reasonPhrase(status)): MessageWriter {
    return new MessageWriter(`SIP/2.0 ${status} ${phrase}`);
  }

  /** `name` in the spelling the wire is to show. */
  header(name: string, value: string | number): this {
    this.#text += `${name}: ${value}\r\n`;
    return this;
  }

  /** One line for each value, in order. */
  headers(name: string, values: readonly string[]): this {
    for (const value of values) this.header(name, value);
    return this;
  }

  /** Ends the header section and appends the body (latin1 text, so that its length is its length in bytes). */
  body(body = ""): string {
    return `${this.#text}Content-Length: ${body.length}\r\n\r\n${body}`;
  }
}

/**
 * Starts a response to `request` with what every response copies from it (RFC 3261 section 8.2.6.2): all Via values, From,
 * To with `toTag` added if it has no tag, Call-ID and CSeq, and Timestamp for a 100 (section 8.2.6.1). Headers the request
 * lacks are left out. `topVia` replaces the first Via value (`stampVia`).
 */
export function responseTo(
  request: SipMessage,
  status: number,
  options: { readonly phrase?: string; readonly toTag?: string; readonly topVia?: string } = {},
): MessageWriter {
  const writer = MessageWriter.response(status, options.phrase ?? reasonPhrase(status));
  const vias = request.headerValues("via");
  if (options.topVia !== undefined) vias[0] = options.topVia;
  writer.headers("Via", vias);
  writer.headers("From", request.headers("from"));
  const to = request.header("to");
  if (to !== undefined) {
    const tagged = !options.toTag || status === 100 || request.toTag !== "";
    writer.header("To", tagged ? to : `${to};tag=${options.toTag}`);
  }
  writer.headers("Call-ID", request.headers("call-id"));
  writer.headers("CSeq", request.headers("cseq"));
  const timestamp = status === 100 ? request.header("timestamp") : undefined;
  if (timestamp !== undefined) writer.header("Timestamp", timestamp);
  return writer;
}
