import { SipText } from "./sip-text.ts";

const single = ["From", "To", "Call-ID", "CSeq", "Max-Forwards", "Content-Length", "Content-Type"];

/**
 * What is wrong in a message that Weir sent: RFC 3261 sections 8.1.1 and 20, as far as one message shows it, and what
 * shows of the other side, whose addresses are `hidden` (DESIGN.md section 4).
 */
export function faultsOf(text: string, hidden: readonly string[]): string[] {
  const message = new SipText(text);
  const { method, status } = message;
  const faults: string[] = [];
  const demand = (holds: boolean, fault: string) => {
    if (!holds) faults.push(`${message.startLine}: ${fault}`);
  };

  const vias = message.headers("Via");
  demand(vias.length === 1 && !vias[0]?.includes(","), `${vias.length} Via header lines: another hop shows`);
  demand(/;\s*branch=z9hG4bK./.test(vias[0] ?? ""), `no RFC 3261 branch in Via: ${vias[0]}`);
  for (const name of single) demand(message.headers(name).length <= 1, `more than one ${name}`);
  demand(message.header("Content-Length") === String(message.body.length), "Content-Length is not the body's length");
  demand(message.body === "" || message.header("Content-Type") !== "", "a body without a Content-Type");
  demand(message.header("Call-ID") !== "", "no Call-ID");
  demand(/^\d+ [A-Z]+$/.test(message.header("CSeq")), `CSeq: ${message.header("CSeq")}`);
  demand(/;\s*tag=./.test(message.header("From")), "no tag in From");

  if (status === 0) {
    demand(message.header("CSeq").endsWith(` ${method}`), `CSeq of another method: ${message.header("CSeq")}`);
    demand(/^\d{1,3}$/.test(message.header("Max-Forwards")), `Max-Forwards: ${message.header("Max-Forwards")}`);
  } else {
    demand(status === 100 || /;\s*tag=./.test(message.header("To")), "no tag in To");
  }
  const target = method === "INVITE" && (status === 0 || (status >= 200 && status < 300));
  if (target)
    demand(message.headers("Contact").length === 1, `${message.headers("Contact").length} Contact header lines`);
  for (const name of ["Via", "Contact", "Record-Route", "Route"]) {
    // A response carries back the Via that the receiver itself wrote.
    if (name === "Via" && status !== 0) continue;
    const shown = message.headers(name).filter((value) => hidden.some((address) => value.includes(address)));
    demand(shown.length === 0, `${name} shows the other side: ${shown[0]}`);
  }
  return faults;
}
