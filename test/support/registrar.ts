import type { Endpoint } from "./loopback.ts";
import { RawUa } from "./raw-ua.ts";
import { RawCall, responseTo, type SipText } from "./sip-text.ts";

/** Header lines of the answer to a REGISTER; or a status other than 200. */
type Answer = readonly string[] | { readonly status: number; readonly headers?: readonly string[] };

/** A registrar that grants what it is asked, unless told otherwise, and can call those who registered. */
export class Registrar {
  readonly registers: SipText[] = [];
  /** How it answers; undefined = as it does without being told. */
  answer: (register: SipText) => Answer | undefined | "nothing" = () => undefined;
  readonly local: Endpoint;
  #ua: RawUa | undefined;

  private constructor(local: Endpoint) {
    this.local = local;
  }

  static async at(local: Endpoint): Promise<Registrar> {
    const registrar = new Registrar(local);
    registrar.#ua = await RawUa.open(local, ({ message, from }, ua) => {
      if (message.status || message.method === "ACK") return;
      if (message.method !== "REGISTER") {
        ua.send(responseTo(message, 200, "OK", local), from);
        return;
      }
      registrar.registers.push(message);
      const answer = registrar.answer(message) ?? granted(message);
      if (answer === "nothing") return;
      const { status, headers = [] } = "status" in answer ? answer : { status: 200, headers: answer };
      const response = responseTo(message, status, "As Told", local).replace(/^Contact:[^\r\n]*\r\n/m, "");
      ua.send(response.replace("Content-Length", [...headers, "Content-Length"].join("\r\n")), from);
    });
    return registrar;
  }

  /** The URI of the first Contact of the newest REGISTER. */
  get contact(): string {
    return /<([^>]+)>/.exec(this.registers.at(-1)?.header("Contact") ?? "")?.[1] ?? "";
  }

  /** Calls a Contact. The final response, acknowledged if it is a 2xx, and the call. */
  async call(contact: string, weir: Endpoint): Promise<{ final: SipText; call: RawCall }> {
    const call = new RawCall(this.local, weir, "phone");
    this.#ua?.send(call.invite({ requestUri: contact }), weir);
    const final = await this.final(call.callId, "INVITE");
    this.#ua?.send(call.ack(final), weir);
    return { final, call };
  }

  async ask(call: RawCall, method: string, answer: SipText, weir: Endpoint): Promise<SipText> {
    this.#ua?.send(call.request(method, answer), weir);
    return this.final(call.callId, method);
  }

  /** Sends bytes of the test's own. */
  send(text: string, to: Endpoint): void {
    this.#ua?.send(text, to);
  }

  receive(wanted: string, match: (message: SipText) => boolean): Promise<SipText> {
    if (!this.#ua) throw new Error("the registrar is closed");
    return this.#ua.receive(wanted, match);
  }

  final(callId: string, method: string): Promise<SipText> {
    return this.receive(
      `a final response to ${method}`,
      (m) => m.status >= 200 && m.method === method && m.header("Call-ID") === callId,
    );
  }

  close(): void {
    this.#ua?.close();
    this.#ua = undefined;
  }
}

function granted(register: SipText): string[] {
  const contacts = register.headers("Contact").flatMap((line) => line.split(/,\s*(?=<)/));
  const expires = register.header("Expires") || "3600";
  return contacts
    .map((contact) => (/;expires=/.test(contact) ? contact : `${contact};expires=${expires}`))
    .filter((contact) => !/;expires=0/.test(contact) && !contact.startsWith("*"))
    .map((contact) => `Contact: ${contact}`);
}
